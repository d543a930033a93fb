"""The scale of the observations changes during the run: normalisation statistics lost on resume, another unit.

Chain: the network sees inputs that it has never seen -> returns fall at this step, before any metric of the
update changes -> value loss jumps -> the policy may learn again.
Healthy look-alike: a planned change of curriculum.
Source: DLR-RM/stable-baselines3#870; leggedrobotics/rsl_rl#89; Engstrom et al., arXiv:2005.12729.
"""

from typing import Any

from firstbreak_lab import classic

CAUSE = "observations-wrong"
ONSET = 0.45
SEVERITIES = {"classic/ppo-cartpole": (0.1, 0.03, 0.01)}  #: observations are multiplied by this


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply every observation by `severity`."""
    classic.tamper(settings, onset, lambda: {"observation": lambda seen: severity * seen}, evaluation=True)
