"""Targets of action values are the reward and, where no episode ended, the discounted value of what follows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.inside.batch import Reading

TOLERANCE = 0.005  #: relative: single precision gives 1e-6, 16 bits 4e-3; a forgotten discount of 0.99 nearly 0.01


def measure(
    td_targets: np.ndarray, td_rewards: np.ndarray, td_ended: np.ndarray, td_next_values: np.ndarray, gamma: float
) -> Mapping[str, Reading]:
    """All arrays (n,): transitions of a batch. `td_next_values`: of the observation after the step, by the target network."""
    own = td_rewards + gamma * (td_ended == 0) * td_next_values
    error = _error(td_targets, own)
    found: dict[str, Reading] = {"target_error": error}
    through = error > TOLERANCE and _error(td_targets, td_rewards + gamma * td_next_values) <= TOLERANCE
    i = int(np.argmax(np.abs(td_targets - own)))
    if (td_ended != 0).any():
        said = f"row {i}: its step ends an episode, and the value of what follows is added"
        found["through_ends"] = (float((td_ended != 0).sum()), said) if through else 0.0
    if error > TOLERANCE:
        found["target_error"] = error, f"row {i}: target {td_targets[i]:.4g}, and from reward and value {own[i]:.4g}"
    return found


def _error(given: np.ndarray, own: np.ndarray) -> float:
    return float(np.linalg.norm(given - own)) / max(float(np.linalg.norm(own)), 1e-12)
