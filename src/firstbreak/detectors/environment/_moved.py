"""A quantity that has no reason to move while a policy learns, and moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.stats.onset import first_sustained

FIRST = 0.25  #: share of the points that say what is usual


class Moved(NamedTuple):
    """From when on, and from which level to which (medians)."""

    step: float
    interval: Interval  #: from the last usual point to the first that is not
    before: float
    after: float


def moved(curve: Series, unusual: Callable[[np.ndarray, float], np.ndarray], count: int = 4) -> Moved | None:
    """Where `unusual(values, usual level)` begins to hold and goes on holding to the end in most points, if anywhere."""
    usual = float(np.median(curve.head(FIRST).values))
    step = first_sustained(curve, lambda values: unusual(values, usual), count)
    if step is None:
        return None
    rest = curve.between(step)
    if np.mean(unusual(rest.values, usual)) < 0.7:
        return None
    before = curve.steps[curve.steps < step]
    since = float(before[-1]) if len(before) else step
    return Moved(step, (since, step), usual, float(np.median(rest.values)))
