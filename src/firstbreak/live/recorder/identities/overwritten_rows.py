"""The rows of a replay buffer are steps, and not one array that the loop writes into again."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(row_obs: np.ndarray, row_before: np.ndarray) -> Mapping[str, Reading]:
    """`row_obs` (m, d); `row_before` (d,): the one observation of all rows of an earlier minibatch.

    A task may have one observation. Where all rows have one, and had another before, what was stored has changed."""
    if len(row_obs) < 2 or np.ptp(row_obs, axis=0).any() or np.array_equal(row_obs[0], row_before):
        return {}
    said = f"all {len(row_obs)} rows have one observation, and had another one before: look for an array that is overwritten"
    return {"row_other": (1.0, said)}
