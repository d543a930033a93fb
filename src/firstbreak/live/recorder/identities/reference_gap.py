"""A policy leaves a reference that stays where it is."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(logps: np.ndarray, ref_logps: np.ndarray, mask: np.ndarray, fresh: bool) -> Mapping[str, Reading]:
    """The mean distance in nats a token, before the first update on a batch."""
    used = mask != 0
    return {"reference_gap": float(np.abs(logps - ref_logps)[used].mean())} if fresh and used.any() else {}
