"""The entropy bonus outweighs the reward.

Chain: entropy rises or stays at its maximum -> sampled behaviour is poor while the greedy policy may be good -> reward
stays low.
Healthy look-alike: early training; clip-higher designs, where entropy rises and then stays constant.
Source: rllm-org/rllm#116; arXiv:2408.15150.
"""

from typing import Any

from firstbreak_lab import classic, language

CAUSE = "entropy-bonus-too-strong"
ACCEPTED = {"policy_update": "it is a coefficient of the loss"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.05, 0.2, 0.5),
    "language/ppo-sort": (0.05, 0.2, 0.5),
    "classic/ppo-cartpole": (0.1, 0.5, 2.0),
    "classic/sac-pendulum": (1.0, 5.0, 20.0),
}  #: weight of the bonus


def inject(settings: Any, severity: float, onset: int) -> None:
    """Set the weight of the entropy bonus (the fixed temperature, for SAC) to `severity`."""
    match settings:
        case classic.ClassicSettings():
            settings.hyperparameters["ent_coef"] = severity
        case language.LanguageSettings():
            settings.change(onset, entropy_coef=severity)
