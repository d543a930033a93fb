"""Some executed actions are not the actions that the policy chose: a wrong mapping, a queue that loses actions.

Chain: log-probabilities refer to actions that were never taken -> the policy gradient is noisy -> learning is
slow and the final return is low; the metrics of the update look normal.
Healthy look-alike: sticky actions by design.
Source: Humbatova et al., arXiv:2101.00135; the debugging guide's environment checks.
"""

import random
from typing import Any

from firstbreak_lab import classic

CAUSE = "actions-not-executed"
ACCEPTED = {"rollout": "what was executed is not what was generated"}
ONSET = 0.0
SEVERITIES = {
    "classic/ppo-cartpole": (0.2, 0.4, 0.7),
    "classic/dqn-cartpole": (0.4, 0.7),
}  #: share of the actions replaced by the first one


def inject(settings: Any, severity: float, onset: int) -> None:
    """Execute action 0 instead of a random share `severity` of the actions."""
    rng = random.Random(settings.seed)
    classic.tamper(
        settings, onset, lambda: {"action": lambda action: 0 if rng.random() < severity else action}, evaluation=True
    )
