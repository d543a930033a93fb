"""Before the first update on a batch, the policy gives its tokens the probabilities that were stored: the ratio is 1."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.02  #: mean over tokens: 16-bit arithmetic in other batch sizes gives up to 0.01


def measure(logps: np.ndarray, old_logps: np.ndarray, mask: np.ndarray, fresh: bool) -> Mapping[str, Reading]:
    """The mean distance of the ratio from 1 over the tokens of the loss."""
    used = mask != 0
    if not fresh or not used.any():
        return {}
    off = np.abs(np.exp(np.clip(logps - old_logps, -20, 20)) - 1) * used
    mean, (i, t) = float(off.sum() / used.sum()), np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: token {t} had {old_logps[i, t]:.4g} nats when stored, and has {logps[i, t]:.4g} before any update"
    return {"ratio_first": (mean, said) if mean > TOLERANCE else mean}
