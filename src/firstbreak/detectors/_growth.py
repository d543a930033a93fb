"""Growth of a positive quantity by a factor against its own early level: norms, losses, distances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.stats.onset import first_sustained, onset
from firstbreak.stats.trend import trend

EARLY, LATE = 0.2, 0.25  #: parts of the run that are compared


@dataclass(frozen=True)
class Growth:
    """How often the late level holds the early one; `curve` has the positive points only."""

    curve: Series
    early: float
    late: float

    @property
    def times(self) -> float:
        """Late over early level."""
        return self.late / self.early

    def since(self) -> tuple[float, Interval] | None:
        """The step from which it grows, and where that step lies; None where noise may be all there is.

        A break in the logarithm, where a factor is a step. Growth that is as smooth as a healthy curve has none, but a
        trend: then it is the step half-way up, some time after the early level was measured.
        """
        logarithm = replace(self.curve, values=np.log(self.curve.values))
        if began := onset(logarithm, direction=1, kinds=("level", "ramp")):
            return began.step, began.interval
        if not trend(logarithm).rising:
            return None
        half_way = float(np.sqrt(self.early * self.late))
        step = first_sustained(self.curve, lambda values: values >= half_way) or float(self.curve.steps[-1])
        return step, (min(step, float(self.curve.head(EARLY).steps[-1])), step)


def growth(curve: Series, min_points: int) -> Growth | None:
    """The growth of the magnitudes of a curve; None where fewer than `min_points` of them are finite and not 0."""
    points = curve.finite
    sizes = np.abs(points.values)
    positive = replace(points, steps=points.steps[sizes > 0], values=sizes[sizes > 0])
    if len(positive) < min_points:
        return None
    early, late = (float(np.median(part.values)) for part in (positive.head(EARLY), positive.tail(LATE)))
    return Growth(positive, early, late)
