"""Growth of a positive quantity by a factor against its own early level: norms, losses, distances."""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.stats.onset import first_sustained, onset
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Fact, Interval, Series, Statistic
from firstbreak.values import dataclass, replace

EARLY, LATE = 0.2, 0.25  #: parts of the run that are compared


@dataclass(frozen=True)
class Growth:
    """How many times larger the late level is than the early one; `curve` has the positive points only."""

    curve: Series
    early: float
    late: float
    appears: float | None = None  #: the step at which it left 0, where it had been exactly 0 until then

    @property
    def before(self) -> Fact:
        """The early level, as a fact."""
        return facts.of(Statistic.SIZE, self.curve.head(EARLY))

    @property
    def after(self) -> Fact:
        """The late level, as a fact."""
        return facts.of(Statistic.SIZE, self.curve.tail(LATE))

    @property
    def times(self) -> float:
        """Late over early level; infinite where it was 0."""
        return self.late / self.early if self.early > 0 else np.inf

    def since(self) -> tuple[float, Interval] | None:
        """The step from which it grows, and where that step lies; None where noise may be all there is.

        A break in the logarithm, where a factor is a step. Growth that is as smooth as a healthy curve has no break, but a
        trend: then the step half-way up counts, some time after the early level was measured.
        """
        if self.appears is not None:
            return self.appears, (self.appears, self.appears)
        logarithm = replace(self.curve, values=np.log(self.curve.values))
        if began := onset(logarithm, direction=1, kinds=("level", "ramp")):
            return began.step, began.interval
        if not trend(logarithm).rising:
            return None
        half_way = float(np.sqrt(self.early * self.late))
        step = first_sustained(self.curve, lambda values: values >= half_way) or float(self.curve.steps[-1])
        return step, (min(step, float(self.curve.head(EARLY).steps[-1])), step)


def appearance(curve: Series, zero_points: int) -> Growth | None:
    """A quantity that is exactly 0 for the first `zero_points` points at least, and then is not, for good."""
    points = curve.finite
    sizes = np.abs(points.values)
    if len(sizes) < 2 * zero_points or np.any(sizes[:zero_points]):
        return None
    since = first_sustained(points, lambda values: np.abs(values) > 0)
    late = median(np.abs(points.tail(LATE).values))
    return Growth(points, 0.0, late, since) if since is not None and late > 0 else None


def growth(curve: Series, min_points: int) -> Growth | None:
    """The growth of the magnitudes of a curve; None where fewer than `min_points` of them are finite and not 0."""
    points = curve.finite
    sizes = np.abs(points.values)
    positive = replace(points, steps=points.steps[sizes > 0], values=sizes[sizes > 0])
    if len(positive) < min_points:
        return None
    early, late = (median(part.values) for part in (positive.head(EARLY), positive.tail(LATE)))
    return Growth(positive, early, late)
