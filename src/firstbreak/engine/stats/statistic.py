"""What is this statistic of this stretch of a curve? Whoever states a number and whoever checks it ask here."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from firstbreak.engine.stats.changes import durations, weighted_median
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import course
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Interval, Series, Statistic

WHOLE: Interval = (-math.inf, math.inf)

_OF: Mapping[Statistic, Callable[[Series, float], float]] = {
    Statistic.FIRST: lambda part, _: float(part.values[0]),
    Statistic.LAST: lambda part, _: float(part.values[-1]),
    Statistic.LOWEST: lambda part, _: float(np.min(part.values)),
    Statistic.HIGHEST: lambda part, _: float(np.max(part.values)),
    Statistic.MEDIAN: lambda part, _: median(part.values),
    Statistic.MEAN: lambda part, _: float(np.mean(part.values)),
    Statistic.QUANTILE: lambda part, which: float(np.quantile(part.values, which)),
    Statistic.LEVEL: lambda part, _: weighted_median(part.values, durations(part.steps)),
    Statistic.SIZE: lambda part, _: median(np.abs(part.values[part.values != 0])) if part.values.any() else 0.0,
    Statistic.LARGEST: lambda part, _: float(np.max(np.abs(part.values))),
    Statistic.NOISE: lambda part, _: noise_scale(part.values),
    Statistic.CHANGE: lambda part, _: float(np.clip(trend(part).change, -np.ptp(part.values), np.ptp(part.values))),
    Statistic.ABOVE: lambda part, limit: float(np.mean(part.values > limit)),
    Statistic.BELOW: lambda part, limit: float(np.mean(part.values < limit)),
    Statistic.EQUAL: lambda part, limit: float(np.mean(part.values == limit)),
    Statistic.COUNT: lambda part, _: float(len(part)),
}


def statistic(kind: Statistic, curve: Series, window: Interval = WHOLE, against: float = 0.0) -> float:
    """The value of a statistic over the finite points of a window, both ends included; NaN where it holds none.

    A step is itself, where the curve goes that far. What is round a step is of the whole curve, at the end of the window.
    """
    if kind in (Statistic.COURSE, Statistic.AROUND):
        steps, level = course(curve, spikes=kind is Statistic.AROUND)
        return float(level[np.argmin(np.abs(steps - window[1]))]) if len(steps) else math.nan
    part = curve.between(*window)
    if kind is Statistic.STEP:
        return window[1] if len(part) else math.nan
    part = part.finite
    return _OF[kind](part, against) if len(part) and kind in _OF else math.nan
