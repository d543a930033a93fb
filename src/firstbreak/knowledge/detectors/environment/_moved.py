"""A quantity that has no reason to change while a policy learns, and changes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from firstbreak.engine.stats.onset import first_sustained, since_last
from firstbreak.model import Interval, Series


class Moved(NamedTuple):
    """From which step on, and from which level to which (medians)."""

    step: float
    interval: Interval  #: from the last usual point to the first unusual one
    before: float
    after: float


def moved(
    curve: Series,
    unusual: Callable[[np.ndarray, float], np.ndarray],
    *,
    first_share: float,
    lasting_points: int,
    lasting_share: float,
) -> Moved | None:
    """Where `unusual(values, usual level)` begins to hold and holds in most points up to the end; None where it never does.

    The usual level is the median of the first `first_share` of the points. `lasting_points` points show that the change
    lasts, and `lasting_share` of the points up to the end have to be unusual.
    """
    usual = float(np.median(curve.head(first_share).values))
    step = first_sustained(curve, lambda values: unusual(values, usual), lasting_points)
    if step is None:
        return None
    rest = curve.between(step)
    if np.mean(unusual(rest.values, usual)) < lasting_share:
        return None
    return Moved(step, since_last(curve, step), usual, float(np.median(rest.values)))
