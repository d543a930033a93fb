"""The actions that are trained are those that the environment was given."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(stored_actions: np.ndarray, done_actions: np.ndarray) -> Mapping[str, Reading]:
    """The share of the stored actions that are not the executed ones, both (T, n) of one rollout."""
    apart = np.argwhere(done_actions != stored_actions)
    if not len(apart):
        return {"action_other": 0.0}
    t, k = (int(i) for i in apart[0])
    said = f"step {t}, environment {k}: action {stored_actions[t, k]:.4g} is stored, {done_actions[t, k]:.4g} executed"
    return {"action_other": (len(apart) / stored_actions.size, said)}
