"""A run that goes on has the weights that were saved."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

NEAR = 0.02  #: relative: a checkpoint in 16 bits keeps less


def measure(resumed: np.ndarray, saved: np.ndarray) -> Mapping[str, Reading]:
    """The share of a few elements of the weights that are not as they were at this step's checkpoint."""
    if resumed.shape != saved.shape or not len(saved):
        return {}
    apart = np.abs(resumed - saved) > NEAR * np.maximum(np.abs(resumed), np.abs(saved)) + 1e-6
    share = float(apart.mean())
    return {"resumed_otherwise": (share, "before the first update after the restart") if share > 0.1 else share}
