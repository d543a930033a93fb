"""Some actions that are executed are not those that the policy chose: a wrong table, a lossy queue.

Chain: log-probabilities refer to actions that were never taken -> the policy gradient points at noise -> learning is
slow and ends low; the numbers of the update look ordinary.
Healthy look-alike: sticky actions by design.
Source: Humbatova et al., arXiv:2101.00135; the debugging guide's environment checks.
"""

from __future__ import annotations

import random
from typing import Any

from firstbreak.lab import classic

CAUSE = "actions-not-executed"
ONSET = 0.0
SEVERITIES = {
    "classic/ppo-cartpole": (0.2, 0.4, 0.7),
    "classic/dqn-cartpole": (0.4, 0.7),
}  #: share of the actions replaced by the first one


def inject(settings: Any, severity: float, onset: int) -> None:
    """Execute action 0 in the place of a random share `severity` of the actions."""
    rng = random.Random(settings.seed)
    classic.tamper(
        settings, onset, lambda: {"action": lambda action: 0 if rng.random() < severity else action}, evaluation=True
    )
