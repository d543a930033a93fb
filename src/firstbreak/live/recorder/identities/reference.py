"""Before the first update, the reference gives every token the probability that the policy gives it."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.05  #: nats, mean over tokens: 16-bit arithmetic gives 0.01


def measure(logps: np.ndarray, ref_logps: np.ndarray, mask: np.ndarray, untrained: bool) -> Mapping[str, Reading]:
    """The mean distance in nats; `untrained`: no update was made yet."""
    used = mask != 0
    if not untrained or not used.any():
        return {}
    off = np.abs(logps - ref_logps) * used
    mean, (i, t) = float(off.sum() / used.sum()), np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: the policy gives token {t} {logps[i, t]:.4g} nats, the reference {ref_logps[i, t]:.4g}"
    return {"reference_start": (mean, said) if mean > TOLERANCE else mean}
