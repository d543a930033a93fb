"""Isolated spikes against lasting shifts, heavy tails, and spikes that come back every k steps."""

import numpy as np

from firstbreak.engine.stats.noise import EQUAL, SD_PER_MAD
from firstbreak.engine.stats.normal import above, normal_scores
from firstbreak.engine.stats.points import distinct, median, points, quantile, rescale
from firstbreak.engine.stats.smooth import running_median
from firstbreak.model import Series
from firstbreak.values import dataclass

MIN_POINTS = 8
LONGEST, RHYTHM = 50, 1e-3  # points of the longest period that is looked for, and what it may be by chance
MOST = 0.2  # of the points: more of them are no spikes but the noise of the curve


@dataclass(frozen=True, kw_only=True, eq=False)
class Spikes:
    """Points that stand out from their neighbours and whose neighbours did not follow."""

    steps: np.ndarray  #: (k,) where
    values: np.ndarray  #: (k,) as logged
    sizes: np.ndarray  #: (k,) signed distance from the local median, in sd of the noise; infinite on a constant
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
    """Points more than `size` noise sd off the median of `width` neighbours. A lasting shift moves that median.

    The last points of a curve may be the first ones of a shift: a spike has come back only when points follow it.
    """
    steps, values = points(curve)
    z, _, _ = rescale(values)
    distance = z - running_median(z, width)
    noise = _noise(np.abs(distance))
    least = np.minimum(np.abs(distance), np.abs(z - _on_both_sides(z, width)))
    out = np.flatnonzero(least > size * noise) if len(z) >= MIN_POINTS else np.arange(0)
    sizes = distance[out] / noise if noise > 0 else np.copysign(np.inf, distance[out])
    return Spikes(steps=steps[out], values=values[out], sizes=sizes, every=period(steps[out]))


def _on_both_sides(z: np.ndarray, width: int) -> np.ndarray:
    """The running median. Near an end the window shrinks to both sides: else the last points of a straight line stand out."""
    level = running_median(z, width)
    for i in range(min(width // 2, len(z) // 2)):
        level[i] = median(z[: 2 * i + 1])
        level[len(z) - 1 - i] = median(z[len(z) - 1 - 2 * i :])
    return level


def tail(curve: Series | np.ndarray) -> Tail | None:
    """Median, 95th percentile and maximum of the magnitudes; None for an empty curve."""
    _, values = points(curve)
    if not len(values):
        return None
    size = np.abs(values)
    return Tail(median=quantile(size, 0.5), p95=quantile(size, 0.95), maximum=quantile(size, 1.0))


def period(steps: np.ndarray, tolerance: float = 0.15) -> float | None:
    """The spacing of at least 4 events of which 80 % come regularly (misses allowed), or None."""
    gaps = np.diff(distinct(steps))
    if len(gaps) < 3:
        return None
    unit = median(gaps)
    times = np.round(gaps / unit)
    regular = (times >= 1) & (np.abs(gaps / unit - times) <= tolerance)
    return unit if np.mean(regular) >= 0.8 else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Rhythm:
    """What comes back every so many points, although single points do not stand out of the noise."""

    every: int  #: points
    high: np.ndarray  #: (n,) whether a point lies at a place of the period that is high
    p: float  #: probability of so clear a rhythm in noise, over all periods


def rhythm(values: np.ndarray) -> Rhythm | None:
    """The clearest period of a curve (n,), of 2 points to a quarter of the curve; None where noise may be all there is.

    The curve, less its running median, is folded at each period. Normal scores of its ranks at one place of the period, or
    at all of them, are larger than those of noise (a z test and a chi-square test; Bonferroni over places and periods).
    """
    n = len(values)
    score = normal_scores(values - running_median(values, 2 * LONGEST + 1))
    best: Rhythm | None = None
    periods = range(2, min(n // 4, LONGEST) + 1)
    for every in periods:
        place = np.arange(n) % every
        z = np.bincount(place, score) / np.sqrt(np.bincount(place))
        k = every - 1
        chi = ((float(z @ z) / k) ** (1 / 3) - 1 + 2 / (9 * k)) / (2 / (9 * k)) ** 0.5  # Wilson & Hilferty 1931
        p = len(periods) * min(every * above(float(z.max())), above(chi)) * 2
        if p < RHYTHM and (best is None or p < best.p):
            best = Rhythm(every=every, high=(z > z.max() / 2)[place], p=p)
    return best


def _noise(away: np.ndarray) -> float:
    """sd of the points about the local median. Where most sit on it: of the rest, unless they are rare; then 0."""
    if not len(away):
        return 0.0
    middle, most = quantile(away, 0.5), quantile(away, 1 - MOST)
    rounding = EQUAL * float(away.max())
    return next((sd for sd in (SD_PER_MAD * middle, most) if sd > rounding), 0.0)
