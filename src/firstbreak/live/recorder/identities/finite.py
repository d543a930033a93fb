"""Every number of an update is finite; the first one that is not is named."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(
    stages: Mapping[str, bool] | None = None,
    advantages: np.ndarray | None = None,
    old_logps: np.ndarray | None = None,
    ref_logps: np.ndarray | None = None,
    logps: np.ndarray | None = None,
    gradient: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """`stages`: what was computed, in this order, and whether it is finite; in its place, the arrays are looked at."""
    if stages is None:
        arrays = {
            "the advantages": advantages,
            "the stored log-probabilities": old_logps,
            "the reference's log-probabilities": ref_logps,
            "the policy's output": logps,
            "the loss's gradient": gradient,
        }
        stages = {name: bool(np.isfinite(array).all()) for name, array in arrays.items() if array is not None}
        if all(stages.values()):
            return {}
    broken = [name for name, finite in stages.items() if not finite]
    return {"nonfinite": (float(len(broken)), f"{broken[0]} is the first that is not finite") if broken else 0.0}
