"""The policy gives a token the same probability twice: nothing in the forward pass is random."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.02  #: nats, mean over tokens


def measure(logps: np.ndarray, eval_logps: np.ndarray, mask: np.ndarray, dropping: str = "") -> Mapping[str, Reading]:
    """The mean distance in nats between the update's pass and one in evaluation mode. `dropping`: an active dropout's name."""
    used = mask != 0
    if not used.any() or not dropping:
        return {"dropout": 0.0}
    off = float((np.abs(logps - eval_logps) * used).sum() / used.sum())
    return {"dropout": (off, f"{dropping} is active") if off > TOLERANCE else off}
