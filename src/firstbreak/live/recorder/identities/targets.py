"""Targets of action values are the reward and, where no episode ended, the discounted value of what follows."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.identities._estimates import TOLERANCE, distance, target
from firstbreak.live.recorder.measuring import Reading


def measure(
    td_targets: np.ndarray, td_rewards: np.ndarray, td_ended: np.ndarray, td_next_values: np.ndarray, gamma: float
) -> Mapping[str, Reading]:
    """All arrays (n,): transitions of a batch. `td_next_values`: of the observation after the step, by the target network."""
    own = td_rewards + gamma * (td_ended == 0) * td_next_values
    found = target(td_targets, own, "row {at[0]}")
    if (td_ended != 0).any():
        through = distance(td_targets, td_rewards + gamma * td_next_values) <= TOLERANCE < distance(td_targets, own)
        i = int(np.argmax(np.abs(td_targets - own)))
        said = f"row {i}: its step ends an episode, and the value of what follows is added"
        found["through_ends"] = (float((td_ended != 0).sum()), said) if through else 0.0
    return found
