"""Updates have almost no effect: a learning rate of nearly 0, parameters that are not in the optimiser.

Chain: the divergence from the old and from the reference policy stays at 0 -> nothing is ever clipped -> reward and
evaluation are flat while rewards differ and gradients look normal.
Healthy look-alike: groups without differences, where the gradient is 0 as well.
Source: modelscope/ms-swift#3136.
"""

from typing import Any

from firstbreak_lab import classic, language, trl

CAUSE = "optimiser-not-connected"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.1, 0.01, 0.0),
    "language/ppo-sort": (0.1, 0.0),
    "classic/ppo-cartpole": (0.03, 0.003, 0.0),
    "trl/grpo-sort": (0.01, 0.0),
}  #: the learning rate is multiplied by this


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply the learning rate that reaches the optimiser by `severity`; the config shows the planned one."""
    match settings:
        case classic.ClassicSettings():
            planned = settings.hyperparameters["learning_rate"]
            settings.recorded["learning_rate"] = planned
            rate = classic.schedule(planned)
            settings.hyperparameters["learning_rate"] = lambda left: severity * rate(left)
        case language.LanguageSettings():
            planned = settings.lr
            settings.patches.append(lambda trainer: settings.change(onset, lr=severity * planned))
        case trl.TrlSettings():
            settings.grpo["learning_rate"] *= severity
