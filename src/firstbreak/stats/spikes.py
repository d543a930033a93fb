"""Isolated spikes against lasting shifts, heavy tails, and spikes that come back every k steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstbreak.model import Series
from firstbreak.stats.noise import spread
from firstbreak.stats.points import points, rescale
from firstbreak.stats.smooth import running_median

MIN_POINTS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Spikes:
    """Points that stand out from their neighbours and whose neighbours did not follow."""

    steps: np.ndarray  #: (k,) where
    values: np.ndarray  #: (k,) as logged
    sizes: np.ndarray  #: (k,) signed distance from the local median, in sd of the noise
    every: float | None  #: in steps: the period, where the spikes come regularly

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, kw_only=True)
class Tail:
    """How heavy the upper tail of a positive quantity is (gradient norms, ratios)."""

    median: float
    p95: float
    maximum: float

    @property
    def p95_ratio(self) -> float:
        """p95 / median; infinite where the median is 0."""
        return self.p95 / self.median if self.median else float("inf")

    @property
    def max_ratio(self) -> float:
        """max / median; infinite where the median is 0."""
        return self.maximum / self.median if self.median else float("inf")


def spikes(curve: Series | np.ndarray, size: float = 6.0, width: int = 9) -> Spikes:
    """Points more than `size` noise sd off the median of `width` neighbours. A lasting shift moves that median."""
    steps, values = points(curve)
    z, _, _ = rescale(values)
    none = np.zeros(0)
    if len(z) < MIN_POINTS or not z.any():
        return Spikes(steps=none, values=none, sizes=none, every=None)
    distance = z - running_median(z, width)
    noise = _local_noise(distance)
    out = np.flatnonzero(np.abs(distance) > size * noise)
    return Spikes(
        steps=steps[out], values=values[out], sizes=distance[out] / max(noise, 1e-12), every=period(steps[out])
    )


def tail(curve: Series | np.ndarray) -> Tail | None:
    """Median, 95th percentile and maximum of the magnitudes; None for an empty curve."""
    _, values = points(curve)
    if not len(values):
        return None
    middle, high = np.quantile(np.abs(values), [0.5, 0.95])
    return Tail(median=float(middle), p95=float(high), maximum=float(np.max(np.abs(values))))


def period(steps: np.ndarray, tolerance: float = 0.15) -> float | None:
    """The spacing of at least 4 events that come regularly (single misses allowed), or None."""
    if len(steps) < 4:
        return None
    gaps = np.diff(np.sort(steps))
    gaps = gaps[gaps > 0]
    if len(gaps) < 3:
        return None
    unit = float(np.median(gaps))
    off = np.abs(gaps / unit - np.round(gaps / unit))
    regular = np.mean((off <= tolerance) & (gaps >= unit * (1 - tolerance)))
    return unit if regular >= 0.8 else None


def _local_noise(distance: np.ndarray) -> float:
    """sd of the points about their local median. Where most sit exactly on it, the middle of those that do not."""
    noise = spread(distance) if np.median(np.abs(distance)) > 0 else 0.0
    if noise > 0:
        return noise
    off = np.abs(distance[distance != 0])
    return float(np.median(off)) / 6 if len(off) else 1.0
