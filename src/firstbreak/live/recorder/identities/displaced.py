"""A minibatch's advantages are those of its rows, which are found again in the rollout by their log-probabilities."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

MIN_ROWS = 16
RELATED = 0.9  #: correlation: advantages that are worked out again in each epoch change a little (convention)


def measure(
    row_logps: np.ndarray, row_advantages: np.ndarray, rolled_logps: np.ndarray, rolled_advantages: np.ndarray
) -> Mapping[str, Reading]:
    """The share of the rows whose advantage is another's, up to a scale and an offset; 0 where they are one by one the same.

    `row_*` (m,): of the minibatch; `rolled_*` (N,): of the rollout. Rows whose log-probability is not unique are left out.
    """
    values, first, times = np.unique(rolled_logps, return_index=True, return_counts=True)
    places = np.searchsorted(values, row_logps).clip(max=len(values) - 1)
    known = np.flatnonzero((values[places] == row_logps) & (times[places] == 1))
    if len(known) < MIN_ROWS or len(rolled_logps) != len(rolled_advantages):
        return {}
    mine, own = row_advantages[known], rolled_advantages[first[places[known]]]
    if not (np.isfinite(mine).all() and np.isfinite(own).all()) or min(mine.std(), own.std()) == 0:
        return {}
    if np.corrcoef(mine, own)[0, 1] > RELATED:
        return {"advantage_displaced": 0.0}
    apart = np.abs((mine - mine.mean()) / mine.std() - (own - own.mean()) / own.std()) > 0.01
    i = int(np.argmax(apart))
    said = f"row {int(known[i])} of the minibatch has {mine[i]:.4g}, and {own[i]:.4g} in the rollout"
    return {"advantage_displaced": (float(apart.mean()), said)}
