"""Cells that hold `null`, `None` or `NA`: a reward that could not be computed, or one that was not due in that row.

Writers without NaN write null for it, so a null of a reward that other rows hold counts as NaN. It does not where it says
only that nothing was logged: before the first number, in rows of another kind (evaluations), at regular intervals, and
for a name that is rarely a number (the return of an episode, in the rows where one ended). A name that was a number in each of
the first rows is meant to be one in every row.
"""

from collections.abc import Set

import numpy as np

from firstbreak.readers import Curve, Recording
from firstbreak.values import replace
from firstbreak.words import number

DENSE = 1.2  #: numbers for each null of a name that is meant to be a number in every row
WHOLE = 10  #: or so many numbers before the first null
SEVERAL = 4  #: nulls of which the distance tells whether they follow a schedule


def as_nan(recording: Recording, rewards: Set[str]) -> tuple[Recording, list[str]]:
    """The recording with NaN where a reward is missing, and notes on nulls that were left out."""
    curves, notes = dict(recording.curves), []
    for name in recording.nulls.keys() & rewards:
        nulls = recording.nulls[name]
        if name not in curves:
            notes.append(f"{name} is null wherever it was logged ({number(len(nulls))} rows)")
            continue
        curve = recording.curves[name]
        due = _due(nulls, curve, recording)
        if not len(due):
            continue
        whole = np.count_nonzero(curve.index < due[0]) >= WHOLE
        sparse = len(curve.values) <= DENSE * np.count_nonzero(due < curve.index[-1])
        if (sparse and not whole) or _regular(due, curve):
            notes.append(
                f"{name} is null in {number(len(due))} of {number(len(due) + len(curve.values))} rows: taken for a value that is "
                "logged now and then"
            )
            continue
        at = np.searchsorted(curve.index, due, side="right")
        curves[name] = Curve(
            index=np.insert(curve.index, at, due),
            values=np.insert(curve.values, at, np.nan),
            times=None if curve.times is None else np.insert(curve.times, at, np.nan),
        )
    return replace(recording, curves=curves), notes


def _due(nulls: np.ndarray, curve: Curve, recording: Recording) -> np.ndarray:
    """The nulls after the first number, in rows of the kind that holds numbers."""
    due: np.ndarray = nulls[nulls > curve.index[0]]
    indices = {id(other.index): other.index for other in recording.curves.values()}
    for index in indices.values() if len(due) else ():
        if not np.isin(index, curve.index).any():
            due = due[~np.isin(due, index)]
    return due


def _regular(nulls: np.ndarray, curve: Curve) -> bool:
    """Whether every n-th row holds a null, n > 1: a schedule."""
    rows = np.union1d(curve.index, nulls)
    gaps = np.diff(np.searchsorted(rows, nulls))
    return len(nulls) >= SEVERAL and bool((gaps == gaps[0]).all() and gaps[0] > 1)
