"""Several environments do not go through the same steps while the policy is still new."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(streams: np.ndarray) -> Mapping[str, Reading]:
    """`streams` (T, n, d): the last observations and actions of n environments. copies: the share of them that repeat another."""
    steps, n = streams.shape[:2]
    if not np.ptp(streams, axis=0).any():
        return {}
    _, first, of = np.unique(streams.swapaxes(0, 1).reshape(n, -1), axis=0, return_index=True, return_inverse=True)
    repeated = first[np.ravel(of)] != np.arange(n)
    if not repeated.any():
        return {"copies": 0.0}
    i = int(np.argmax(repeated))
    said = f"environments {first[np.ravel(of)[i]]} and {i} had the same {steps} last observations and actions"
    return {"copies": (float(repeated.sum() / (n - 1)), said)}
