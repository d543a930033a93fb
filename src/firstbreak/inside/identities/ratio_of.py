"""The ratio is the new probability over the old one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.inside.batch import Reading

TOLERANCE = 0.01


def measure(ratio: np.ndarray, logps: np.ndarray, old_logps: np.ndarray) -> Mapping[str, Reading]:
    """The mean distance of the ratio in use from exp(new - old), as a share of it."""
    own = np.exp(np.clip(logps - old_logps, -20, 20))
    off = np.abs(ratio - own) / own
    i = int(np.argmax(off.max(axis=1)))
    said = f"row {i}: ratio {ratio[i, 0]:.4g}, and from the log-probabilities {own[i, 0]:.4g}"
    mean = float(off.mean())
    return {"ratio_error": (mean, said) if mean > TOLERANCE else mean}
