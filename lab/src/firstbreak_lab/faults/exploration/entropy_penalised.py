"""The entropy bonus has the wrong sign: low entropy is rewarded.

Chain: entropy falls early -> completions of a prompt agree, one action is always taken -> groups or returns become
equal -> reward stops rising.
Healthy look-alike: entropy that falls because the task is solved.
Source: arXiv:2505.22617; volcengine/verl#5953.
"""

from typing import Any

from firstbreak_lab import classic, language

CAUSE = "premature-convergence"
ACCEPTED = {"policy_update": "it is the sign of a coefficient of the loss"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-add": (-0.05, -0.2, -0.5),
    "language/grpo-sort": (-0.05, -0.2, -0.5),
    "classic/ppo-cartpole": (-0.1, -0.3, -1.0),
}  #: weight of the bonus


def inject(settings: Any, severity: float, onset: int) -> None:
    """Set the weight of the entropy bonus to `severity`."""
    match settings:
        case classic.ClassicSettings():
            settings.hyperparameters["ent_coef"] = severity
        case language.LanguageSettings():
            settings.change(onset, entropy_coef=severity)
