"""Returns without a critic are the discounted sums of the rewards that follow, up to a scale and an offset."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.hooks.firstbreak_loop import advantages
from firstbreak.live.recorder.identities._estimates import TOLERANCE
from firstbreak.live.recorder.measuring import Reading

MIN_ROWS = 16
SURELY = 10 * TOLERANCE  #: of what is named, the right sums are so far away


def measure(paid: np.ndarray, sums: np.ndarray, gamma: float, ends: Sequence[np.ndarray] = ()) -> Mapping[str, Reading]:
    """target_error: distance of the returns `sums` from those of the rewards `paid`, both (T, n), where they are others that have
    a name. `ends`: 1 where an episode ended, in each reading; without them, one episode. Returns that go on with a value after
    the last step have no name here, and nothing is said of them."""
    if sums.size < MIN_ROWS or not (np.isfinite(sums).all() and np.isfinite(paid).all()) or np.ptp(sums) == 0:
        return {}
    every, none = [(end != 0).astype(float) for end in ends] or [np.zeros_like(paid)], np.zeros_like(paid[:1])
    right = [_summed(paid, end, gamma) for end in every]
    error = min(_apart(sums, own) for own in right)
    named = {
        "the negative ones": [-own for own in right],
        "without the discount": [_summed(paid, end, 1.0) for end in every],
        "summed up from the first step on": [
            _summed(paid[::-1], np.vstack([none, end[:-1]])[::-1], gamma)[::-1] for end in every
        ],
        "those of the next step": [np.vstack([own[1:], none]) for own in right],
        "those of the step before": [np.vstack([none, own[:-1]]) for own in right],
        "summed up across the ends of episodes": [_summed(paid, np.zeros_like(paid), gamma)],
    }
    found = [name for name, others in named.items() if min(_apart(sums, own) for own in others) <= TOLERANCE]
    if error <= SURELY or not found:
        return {"target_error": error} if error <= TOLERANCE else {}
    return {"target_error": (error, f"the returns {', '.join(f'{v:.4g}' for v in sums[:3, 0])}, ... are {found[0]}")}


def _summed(paid: np.ndarray, ended: np.ndarray, gamma: float) -> np.ndarray:
    return advantages(paid, np.zeros_like(paid), np.zeros(paid.shape[1]), ended, gamma, 1.0)


def _apart(given: np.ndarray, own: np.ndarray) -> float:
    """The distance of returns from others, of their spread, where a positive scale and an offset of all are free."""
    x, y = own - own.mean(), given - given.mean()
    scale = max(float((x * y).sum()) / max(float((x**2).sum()), 1e-12), 0.0)
    return float(np.linalg.norm(y - scale * x) / np.linalg.norm(y))
