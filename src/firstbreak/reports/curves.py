"""Prepares a curve for drawing: thinned without losing spikes, scaled to 0..1, binned into columns."""

import math
from itertools import pairwise

import numpy as np

from firstbreak.engine.stats.points import median
from firstbreak.model import Interval, Series
from firstbreak.reports.text import short_number
from firstbreak.values import dataclass

MOST_POINTS = 400  # points of a drawn curve: enough for the pixels of a report, few enough for a small file
SPARSE = 8  # bins for each value, from which on values stand alone
FEW = 40  # points: so few are drawn as steps, because slopes between them would look like data
LOG_ABOVE = 200.0  # a positive curve whose peak is this many times its median is drawn on a log scale


@dataclass(frozen=True)
class Scale:
    """Values -> heights in 0..1, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        """Heights of finite `values`; half height for a constant curve."""
        low, high = self.low, self.high
        if self.log:
            low, high, values = math.log10(low), math.log10(high), np.log10(values)
        # Divide before subtracting: the range of a diverged curve can overflow.
        unit = max(abs(low), abs(high)) or 1.0
        span = high / unit - low / unit
        if span == 0.0:
            return np.full(np.shape(values), 0.5)
        # values that differ by rounding only may round to a place outside
        return np.clip((values / unit - low / unit) / span, 0.0, 1.0)


def scale(series: Series, level: float | None = None) -> Scale | None:
    """The scale that shows all finite values. None without finite values.

    The scale includes the level, unless the curve would then use less than a third of the height.
    """
    values = series.finite.values
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore"):
        middle = median(values)
    if low > 0 and high > LOG_ABOVE * middle:
        return Scale(low, high, log=True)
    if level is not None and math.isfinite(level):
        wider = min(low, level), max(high, level)
        if high / 3 - low / 3 >= (wider[1] / 3 - wider[0] / 3) / 3:
            low, high = wider
    return Scale(low, high)


def level(series: Series) -> str:
    """'-21 in each of 300 rows' of a curve that never changes; else nothing."""
    values = series.values
    same = len(values) > 1 and bool(np.all(values == values[0]))
    return f"{short_number(float(values[0]))} in each of {len(values)} rows" if same else ""


def label(value: float) -> str:
    """A number at the edge of a plot, in at most ten characters."""
    text = short_number(value)
    return text if len(text) <= 10 else f"{value:.3g}"


def across(steps: np.ndarray | float, domain: Interval) -> np.ndarray:
    """Steps -> places in 0..1 along the x axis."""
    start, end = domain
    return np.clip((np.asarray(steps, dtype=float) - start) / ((end - start) or 1.0), 0.0, 1.0)


def thin(series: Series, most: int = MOST_POINTS) -> list[Series]:
    """Pieces of the curve between its gaps, with at most about `most` points in all.

    Each bin along the steps keeps its lowest and its highest finite value, so a spike of one point is never lost.
    A value that is not finite ends a piece.
    """
    finite = np.isfinite(series.values)
    kept = np.flatnonzero(finite)
    if len(kept) > most:
        kept = np.unique(
            [index for chunk in _bins(series.steps, most // 2) for index in _extremes(series, chunk, finite)]
        )
    gaps_before = np.cumsum(~finite)[kept]
    cuts = np.flatnonzero(np.diff(gaps_before)) + 1
    return [
        Series(name=series.name, steps=series.steps[piece], values=series.values[piece], axis=series.axis)
        for piece in np.split(kept, cuts)
        if len(piece)
    ]


def _bins(steps: np.ndarray, n: int) -> list[np.ndarray]:
    edges = np.searchsorted(steps, np.linspace(steps[0], steps[-1], n + 1))
    edges[0], edges[-1] = 0, len(steps)
    return [np.arange(start, end) for start, end in pairwise(edges)]


def _extremes(series: Series, chunk: np.ndarray, finite: np.ndarray) -> list[int]:
    chunk = chunk[finite[chunk]]
    if not len(chunk):
        return []
    values = series.values[chunk]
    return [int(chunk[np.argmin(values)]), int(chunk[np.argmax(values)])]


def gaps(series: Series, domain: Interval, n: int) -> list[float]:
    """Places in 0..1 of the values that are not finite, at most one for each of `n` bins along the axis."""
    places = across(series.steps[~np.isfinite(series.values)], domain)
    return [float(place) for place in np.unique(np.round(places * n) / n)]


def columns(series: Series, domain: Interval, n: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of `n` equal bins of the domain: one value (NaN where there is none), and whether a point is not finite.

    A bin shows the value farthest from the median of the curve, because a mean would hide spikes. A bin without a value
    shows the one before it, as a step: what lies between is not known. Few values in many bins stand alone, as points.
    """
    place = np.minimum((across(series.steps, domain) * n).astype(int), n - 1)
    finite = np.isfinite(series.values)
    shown, broken = np.full(n, np.nan), np.zeros(n, dtype=bool)
    broken[place[~finite]] = True
    if finite.any():
        values, place = series.values[finite], place[finite]
        with np.errstate(over="ignore"):  # the range of a diverged curve can overflow
            away = np.abs(values - median(values))
        far = np.zeros(n)
        np.maximum.at(far, place, away)
        farthest = away == far[place]
        shown[place[farthest]] = values[farthest]
    drawn = np.flatnonzero(broken | np.isfinite(shown))
    for left, right in pairwise(drawn if len(drawn) * SPARSE > n else ()):
        if not (broken[left] or broken[right]):
            shown[left:right] = shown[left]
    return shown, broken
