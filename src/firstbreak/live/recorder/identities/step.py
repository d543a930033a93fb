"""An update on a batch makes its good completions more probable, and its bad ones less so."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

STILL = 1e-7  #: nats a token: nothing moved
FAR = 2.0  #: nats a token, in one update


def measure(
    logps_before: np.ndarray, logps_after: np.ndarray, mask: np.ndarray, advantages: np.ndarray
) -> Mapping[str, Reading]:
    """step_gain, from -1 to 1: advantage times change of the log-probability, over its size; step_size: nats a token."""
    used = mask != 0
    change = ((logps_after - logps_before) * used).sum(1) / np.maximum(used.sum(1), 1)
    size = float((np.abs(logps_after - logps_before) * used).sum() / max(used.sum(), 1))
    weighed = advantages.reshape(len(change), -1)[:, 0]
    found: dict[str, Reading] = {"step_size": (size, f"{size:.3g} nats a token in one update") if size > FAR else size}
    if size <= STILL or not np.abs(weighed * change).sum():
        return found
    gain = float((weighed * change).sum() / np.abs(weighed * change).sum())
    i = int(np.argmax(weighed))
    said = f"row {i}: advantage {weighed[i]:.4g}, and its log-probability changed by {change[i]:.4g} nats a token"
    return found | {"step_gain": (gain, said) if gain < 0 else gain}
