"""Did a curve go up, or down, in whatever way, and when did it leave its first level?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.diagnosis.stats.onset import first_sustained, onset
from firstbreak.diagnosis.stats.shape import trajectory
from firstbreak.diagnosis.stats.trend import trend
from firstbreak.model import Interval, Series


def rises(curve: Series) -> bool:
    """Up beyond its noise: as a line, or to a level that it did not have before and keeps.

    A line alone misses a step: its long correlated residuals look like a random walk, which is not a trend.
    """
    return trend(curve).rising or trajectory(curve).kind in ("rising", "plateau")


def falls(curve: Series) -> bool:
    """Down beyond its noise, as a line or to a level that it keeps."""
    return rises(_turned(curve))


def departure(curve: Series, direction: int = 1) -> tuple[float, Interval] | None:
    """When a curve that rose (or fell, direction -1) left its first level: step and interval, None if it never did.

    A clear break where there is one. A smooth rise has none: then the step at which a tenth of the whole change is left
    behind for good, and an interval from the start of that tenth's noise to half of the change.
    """
    found = onset(curve, direction=direction, kinds=("level", "ramp"))
    if found is not None:
        return found.step, found.interval
    upward = curve if direction > 0 else _turned(curve)
    shape = trajectory(upward)
    if not np.isfinite(shape.gain) or shape.gain <= 0:
        return None
    tenth = first_sustained(upward, lambda values: values > shape.start + 0.1 * shape.gain)
    half = first_sustained(upward, lambda values: values > shape.start + 0.5 * shape.gain)
    if tenth is None or half is None:
        return None
    return tenth, (max(float(curve.steps[0]), tenth - (half - tenth)), half)


def fall_from_best(score: Series, best: float) -> tuple[float, Interval]:
    """When a score that was lost began to fall: step and interval, between the step of its best level and its end."""
    found = departure(score.between(best), direction=-1)
    if found is None:
        return best, (best, float(score.steps[-1]))
    step, (_, latest) = found
    return step, (best, max(step, latest))


def _turned(curve: Series) -> Series:
    return replace(curve, values=-curve.values)
