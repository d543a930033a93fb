"""An action that was drawn from a density is stored as it was drawn, and not clipped to the range of the environment."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(drawn: np.ndarray, bounds: tuple[np.ndarray, np.ndarray]) -> Mapping[str, Reading]:
    """`drawn` (m, k): the stored actions of a rollout with log-probabilities; `bounds`: the range of each component.

    action_clipped: share of the rows with a component that is exactly an end of its range: a density gives that
    no probability."""
    low, high = bounds
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return {}
    at_end = ((drawn == low.astype(np.float32)) | (drawn == high.astype(np.float32))).any(1)
    if not at_end.any():
        return {"action_clipped": 0.0}
    i = int(np.argmax(at_end))
    said = f"row {i}: the stored action {', '.join(f'{a:.4g}' for a in drawn[i][:4])} is at the end of its range"
    return {"action_clipped": (float(at_end.mean()), said)}
