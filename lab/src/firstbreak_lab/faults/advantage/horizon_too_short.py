"""The discount is too small: important rewards are beyond the horizon.

Chain: returns are far below the undiscounted ones -> advantages depend only on the next few steps -> returns stop
rising at a low level.
Healthy look-alike: a task with short episodes, where a small discount is right.
Source: arXiv:2408.15150 (discount mutation); Andrychowicz et al., arXiv:2006.05990.
"""

from typing import Any

CAUSE = "horizon-too-short"
ONSET = 0.0
SEVERITIES = {
    "classic/ppo-cartpole": (0.9, 0.7, 0.3),
    "classic/dqn-cartpole": (0.9, 0.7, 0.3),
    "classic/sac-pendulum": (0.9, 0.7, 0.3),
}  #: discount; 0.99 is right


def inject(settings: Any, severity: float, onset: int) -> None:
    """Set the discount to `severity`."""
    settings.hyperparameters["gamma"] = severity
