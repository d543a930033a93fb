"""The updates on one batch move the policy by little."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.identities.step import FAR
from firstbreak.live.recorder.measuring import Reading


def measure(logps: np.ndarray, old_logps: np.ndarray, mask: np.ndarray, since: float) -> Mapping[str, Reading]:
    """step_size: nats a token for each of the `since` updates since the batch was sampled, as far as they add up."""
    used = mask != 0
    if since < 1 or not used.any():
        return {}
    size = float(np.abs(logps - old_logps)[used].mean() / since)
    return {"step_size": (size, f"{size:.3g} nats a token in one update") if size > FAR else size}
