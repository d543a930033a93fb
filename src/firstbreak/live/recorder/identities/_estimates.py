"""Advantages and targets of steps, worked out again: tokens of completions are steps of episodes that end with them."""

import numpy as np

from firstbreak.live.hooks.firstbreak_loop import advantages
from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.005  #: relative: single precision gives 1e-6, 16 bits 4e-3; a forgotten discount of 0.99 nearly 0.01


def of_tokens(
    rewards: np.ndarray, values: np.ndarray, used: np.ndarray, discount: float, gae_lambda: float
) -> np.ndarray:
    """Advantages (n, T) of tokens: those that do not count are no steps, and have 0."""
    order = np.argsort(~used, axis=1, kind="stable")
    paid, valued = (np.take_along_axis(np.where(used, table, 0.0), order, 1).T for table in (rewards, values))
    made = np.zeros_like(paid.T)
    own = advantages(paid, valued, np.zeros(len(used)), np.zeros_like(paid), discount, gae_lambda)
    np.put_along_axis(made, order, own.T, 1)
    return np.where(used, made, 0.0)


def size_of(reading: Reading) -> float:
    """The number of a reading."""
    return reading[0] if isinstance(reading, tuple) else reading


def distance(given: np.ndarray, own: np.ndarray) -> float:
    """Relative to the own ones."""
    return float(np.linalg.norm(given - own)) / max(float(np.linalg.norm(own)), 1e-12)


def target(given: np.ndarray, own: np.ndarray, where: str) -> dict[str, Reading]:
    """target_error: distance of the critic's targets; `where` is formatted with the place `at` of the largest."""
    if not (np.isfinite(given).all() and np.isfinite(own).all()):
        return {}
    error = distance(given, own)
    at = np.unravel_index(int(np.argmax(np.abs(given - own))), given.shape)
    said = f"{where.format(at=at)} has the target {given[at]:.4g}, and from rewards and values {own[at]:.4g}"
    return {"target_error": (error, said) if error > TOLERANCE else error}
