"""Failures are reported as time limits: termination and truncation are exchanged.

Chain: the value of the state after a failure is bootstrapped -> failing costs little -> advantages shrink -> returns
stay below the maximum.
Healthy look-alike: a task whose episodes really end at a time limit.
Source: Pardo et al., arXiv:1712.00378; DLR-RM/stable-baselines3#1864.
"""

import random
from typing import Any

from firstbreak_lab import classic

CAUSE = "termination-flags-wrong"
ACCEPTED = {"advantage": "the remedy is in what is bootstrapped after an end"}
ONSET = 0.0
SEVERITIES = {"classic/ppo-cartpole": (0.3, 0.7, 1.0), "classic/dqn-cartpole": (0.5, 1.0)}  #: share of the failures


def inject(settings: Any, severity: float, onset: int) -> None:
    """Report a random share `severity` of the terminations as truncations."""
    rng = random.Random(settings.seed)

    def confused(end: tuple[bool, bool]) -> tuple[bool, bool]:
        terminated, _ = end
        return (False, True) if terminated and rng.random() < severity else end

    classic.tamper(settings, onset, lambda: {"end": confused})
