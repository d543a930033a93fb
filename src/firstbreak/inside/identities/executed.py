"""The actions that are trained are those that the environment was given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.inside.batch import Reading

LATER = 64  #: steps that the environment may have made since


def measure(stored_actions: np.ndarray, done_actions: np.ndarray) -> Mapping[str, Reading]:
    """The share of the stored actions that are not the executed ones. `stored_actions` (T, n), `done_actions` (at least T, n)."""
    steps = len(stored_actions)
    ends = range(len(done_actions), max(len(done_actions) - LATER, steps) - 1, -1)
    shares = [float((done_actions[end - steps : end] != stored_actions).mean()) for end in ends]
    if not shares or min(shares) == 0:
        return {"action_other": 0.0} if shares else {}
    apart = np.argwhere(done_actions[-steps:] != stored_actions)
    t, k = (int(i) for i in apart[0])
    said = f"step {t}, environment {k}: action {stored_actions[t, k]:.4g} is stored, {done_actions[-steps:][t, k]:.4g} executed"
    return {"action_other": (shares[0], said)}
