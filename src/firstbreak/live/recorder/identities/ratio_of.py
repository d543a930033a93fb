"""The ratio is the new probability over the old one."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.01
FAR = 20.0  #: nats: a ratio beyond is not compared


def measure(ratio: np.ndarray, logps: np.ndarray, old_logps: np.ndarray) -> Mapping[str, Reading]:
    """The mean distance of the ratio in use from exp(new - old), as a share of it."""
    apart = logps - old_logps
    own = np.exp(np.clip(apart, -FAR, FAR))
    off = np.where(np.abs(apart) < FAR, np.abs(ratio - own) / own, 0.0)
    i = int(np.argmax(off.max(axis=1)))
    said = f"row {i}: ratio {ratio[i, 0]:.4g}, and from the log-probabilities {own[i, 0]:.4g}"
    mean = float(off.mean())
    return {"ratio_error": (mean, said) if mean > TOLERANCE else mean}
