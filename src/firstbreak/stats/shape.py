"""What is this score doing? The practitioner's first question, asked of the curve as a whole and not of a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.stats.noise import autocorrelation, effective_size, noise_scale, spread
from firstbreak.stats.points import points, rescale
from firstbreak.stats.smooth import running_median
from firstbreak.stats.trend import trend

Kind = Literal["rising", "plateau", "flat", "declining", "peaked", "collapsed", "oscillating", "too_short"]
Phase = Literal["accelerating", "steady", "slowing", "plateau", "none"]

MIN_POINTS = 4
WINDOWS = 24
IMMATERIAL = 0.15  # of the gain: a smaller loss since the best is a wobble of the plateau
COLLAPSE = 0.7  # of the gain: a larger loss leaves little of what was learned
STILL_RISING = 0.07  # of the gain, won in the last third: less is a plateau


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """The course of a score (higher is better). Levels are window means in units of the score; NaN: too short."""

    kind: Kind
    phase: Phase  #: of the improvement, as it stands at the end
    start: float  #: level of the first window
    best: float  #: highest level
    best_step: float  #: middle of that window: where the checkpoint is
    end: float  #: level of the last window
    end_step: float
    noise: float  #: sd of one point about the slow curve
    level_noise: float  #: standard error of a level, wander included
    gain: float  #: best - start
    gain_sigma: float  #: gain in standard errors
    drop: float  #: best - end
    drop_sigma: float  #: drop in standard errors; the best is picked from many levels, so 2 is nothing and 4 is much
    drop_interval: Interval  #: 95 % of the drop, the picking of the best allowed for; (-inf, inf) if too short
    recent: float  #: change over the last third, fitted
    n: int  #: finite points

    @property
    def drop_fraction(self) -> float:
        """Drop as a fraction of the gain: 0 nothing lost, 1 back at the start, more: below; infinite without gain."""
        if self.drop <= 0:
            return 0.0
        return self.drop / self.gain if self.gain > 0 else float("inf")

    @property
    def learned(self) -> bool:
        """It got better than it began, beyond noise, at some time."""
        return self.kind in ("rising", "plateau", "peaked", "collapsed")

    @property
    def lost(self) -> bool:
        """It is now worse than it was, beyond noise, and not for a moment only."""
        return self.kind in ("declining", "peaked", "collapsed")


def trajectory(curve: Series | np.ndarray, sd: np.ndarray | None = None) -> Trajectory:
    """The shape of a score curve. O(n log n).

    `sd`: standard error of each point where it is known (spread over evaluation episodes / sqrt(episodes)), one per
    value of the curve; with few points it says more about the noise than the points do.
    """
    steps, values = points(curve)
    n = len(values)
    if n < MIN_POINTS:
        return _too_short(n)
    z, centre, scale = rescale(values)
    calm = _without_spikes(z)
    level, at = _levels(calm, steps)
    point_noise = _known_noise(curve, sd, scale) if sd is not None else noise_scale(z)
    error = _level_error(calm, level, point_noise, trust=sd is not None)
    k = len(level)
    best = int(np.argmax(level))
    gain, drop = float(level[best] - level[0]), float(level[best] - level[-1])
    luck = float(np.sqrt(2 * np.log(k)))  # the best of k equal levels lies about this many errors too high
    sigma = error * np.sqrt(2.0)
    tail = max(4, round(n / 3))
    recent = trend(calm[-tail:])
    kind = _kind(level, gain, drop, sigma, luck, recent.change if recent.rising else 0.0, trend(calm, 0.99).direction)
    return Trajectory(
        kind=kind,
        phase=_phase(kind, level, sigma),
        start=centre + scale * float(level[0]),
        best=centre + scale * float(level[best]),
        best_step=float(at[best]),
        end=centre + scale * float(level[-1]),
        end_step=float(steps[-1]),
        noise=point_noise * scale,
        level_noise=error * scale,
        gain=gain * scale,
        gain_sigma=_ratio(gain, sigma),
        drop=drop * scale,
        drop_sigma=_ratio(drop, sigma),
        drop_interval=((drop - (1.96 + luck) * sigma) * scale, (drop + 1.96 * sigma) * scale),
        recent=recent.change * scale,
        n=n,
    )


def _too_short(n: int) -> Trajectory:
    nan = float("nan")
    return Trajectory(
        kind="too_short",
        phase="none",
        start=nan,
        best=nan,
        best_step=nan,
        end=nan,
        end_step=nan,
        noise=nan,
        level_noise=nan,
        gain=nan,
        gain_sigma=0.0,
        drop=nan,
        drop_sigma=0.0,
        drop_interval=(-np.inf, np.inf),
        recent=nan,
        n=n,
    )


def _kind(
    level: np.ndarray, gain: float, drop: float, sigma: float, luck: float, recent: float, direction: int
) -> Kind:
    """The decision, on levels: did it rise, did it fall and stay down, does it still rise?"""
    sure = (luck + 1.5) * sigma
    rose = gain > sure or (direction > 0 and gain > 0)
    fell = drop > sure or (direction < 0 and drop > 0)
    if _swings(level, max(sure, 0.4 * float(np.ptp(level)))) >= 4:
        return "oscillating"
    if fell and rose and drop > IMMATERIAL * gain:
        return "collapsed" if drop > COLLAPSE * gain else "peaked"
    if fell and not rose:
        return "declining"
    if not rose:
        return "flat"
    return "rising" if recent > STILL_RISING * gain else "plateau"


def _phase(kind: Kind, level: np.ndarray, sigma: float) -> Phase:
    """How the last third's improvement compares with that of the two before."""
    if kind == "plateau":
        return "plateau"
    if kind != "rising":
        return "none"
    third = np.array_split(np.arange(len(level)), 3)
    mark = [level[0], *(level[t].mean() for t in third[:-1]), level[-1]]
    early, middle, late = np.diff([mark[0], (mark[1] + mark[2]) / 2, level[third[1][-1]], mark[-1]])
    usual = max(early, middle, 0.0)
    if late > 1.5 * usual + sigma:
        return "accelerating"
    return "slowing" if late < 0.5 * usual else "steady"


def _without_spikes(z: np.ndarray) -> np.ndarray:
    """Points far from the median of their neighbours pulled in, so that one of them moves no level."""
    if len(z) < 9:
        return z
    middle = running_median(z, 5)
    limit = 4 * max(spread(z - middle), float(np.quantile(np.abs(z - middle), 0.95)) / 1.96)
    return np.asarray(middle + np.clip(z - middle, -limit, limit))


def _levels(z: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of consecutive windows of at least 3 points (of single points below 9) and the step in their middle."""
    n = len(z)
    windows = n if n < 9 else min(WINDOWS, n // 3)
    edges = np.linspace(0, n, windows + 1).astype(int)
    mean = np.add.reduceat(z, edges[:-1]) / np.diff(edges)
    return np.asarray(mean), steps[(edges[:-1] + edges[1:] - 1) // 2]


def _level_error(z: np.ndarray, level: np.ndarray, noise: float, trust: bool) -> float:
    """Standard error of a level: of the mean of its points, or what the levels wander by, whichever is larger."""
    width = len(z) / len(level)
    rho = autocorrelation(z - np.repeat(level, np.diff(np.linspace(0, len(z), len(level) + 1).astype(int))))
    sampling = noise / float(np.sqrt(effective_size(max(1, round(width)), max(rho, 0.0))))
    wander = 0.0 if trust or len(level) < 6 else spread(np.diff(level, 2)) / float(np.sqrt(6.0))
    return float(max(sampling, wander, 1e-9))


def _known_noise(curve: Series | np.ndarray, sd: np.ndarray, scale: float) -> float:
    values = curve.values if isinstance(curve, Series) else np.asarray(curve, float)
    known = np.asarray(sd, float)[np.isfinite(values)] / scale
    known = known[np.isfinite(known)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else 0.0


def _swings(level: np.ndarray, size: float) -> int:
    """Number of alternating moves of at least `size` (a zigzag)."""
    low = high = float(level[0])
    count, going = 0, 0
    for value in level[1:]:
        low, high = min(low, float(value)), max(high, float(value))
        if going <= 0 and value - low >= size:
            count, going, high = count + 1, 1, float(value)
        elif going >= 0 and high - value >= size:
            count, going, low = count + 1, -1, float(value)
        if going > 0:
            low = high
        elif going < 0:
            high = low
    return count


def _ratio(value: float, error: float) -> float:
    return value / error if error > 0 else 0.0
