"""Values that a logger repeats until the next measurement: an evaluation every ten steps in a table with a row per step.

Repeated values make a plateau and hide the spread of a score, so that one point of each measurement is kept. A curve that
hardly ever changes, or changes at irregular steps, is left as it is: it may be constant. Where the time that an evaluation took
stands in the same rows, with digits enough, it says which of them are copies: no measurement takes the same time twice.
"""

from collections.abc import Iterable

import numpy as np

from firstbreak.model import Series
from firstbreak.values import replace

CHANGES = 8  #: fewer are no pattern
EVERY = 3  #: points from one measurement to the next
ON_TIME = 0.95  #: share of the changes that come at a multiple of the interval
DIGITS = 5  #: of a clock that tells two measurements apart: with fewer, equal times are chance (convention)


def thinned(series: Series) -> tuple[Series, int]:
    """The curve without its repetitions, and how many points a measurement lasted (1: nothing was repeated)."""
    values = series.values
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    changes = np.flatnonzero(~same) + 1
    gaps = np.diff(changes)
    if len(changes) < CHANGES:
        return series, 1
    lengths, counts = np.unique(gaps, return_counts=True)
    every = int(lengths[np.argmax(counts)])
    if every < EVERY or np.mean(gaps % every == 0) < ON_TIME:
        return series, 1
    measured = np.arange(changes[0] % every, len(values), every)
    keep = np.union1d(np.union1d(measured, changes), [0])
    return replace(series, steps=series.steps[keep], values=values[keep]), every


def by_the_clock(series: Series, clocks: Iterable[Series]) -> tuple[Series, int]:
    """The curve without the rows in which every clock says the same as before, and how many of them there were."""
    beside = [c for c in clocks if _fine(c.values) and np.array_equal(c.steps, series.steps)]
    if not beside:
        return series, 0
    copies = np.logical_and.reduce([np.diff(c.values, prepend=np.nan) == 0 for c in beside])
    return replace(series, steps=series.steps[~copies], values=series.values[~copies]), int(copies.sum())


def _fine(times: np.ndarray) -> bool:
    """Whether most of these times, which are not all the same, have more than a few digits."""
    rounded = np.array([float(f"{time:.{DIGITS}g}") for time in times])
    return bool(len(times) > 1 and np.ptp(times) > 0 and np.mean(rounded != times) > 0.5)
