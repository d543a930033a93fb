"""The critic does not learn: its parameters are not in the optimiser, its loss has no weight.

Chain: values stay where they began -> explained variance at or below 0 -> advantages are as noisy as returns -> the
policy learns slowly or drifts.
Healthy look-alike: a solved task with equal returns, where explained variance has no meaning.
Source: hiyouga/LLaMA-Factory#124; the debugging guide's critic section.
"""

from typing import Any

from firstbreak_lab import classic, language

CAUSE = "critic-not-trained"
ACCEPTED = {"policy_update": "the critic's parameters or its loss are missing in the optimiser"}
ONSET = 0.0
SEVERITIES = {
    "classic/ppo-cartpole": (0.01, 0.001, 0.0),
    "classic/a2c-cartpole": (0.01, 0.0),
    "language/ppo-sort": (0.01, 0.0),
}  #: the critic's learning signal is multiplied by this


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply the critic's loss (or its learning rate, which has the same effect) by `severity`."""
    match settings:
        case classic.ClassicSettings():
            settings.hyperparameters["vf_coef"] = 0.5 * severity
            settings.recorded["vf_coef"] = 0.5
        case language.LanguageSettings():
            settings.patches.append(lambda trainer: settings.change(1, critic_lr=settings.critic_lr * severity))
