"""What is this score doing? The practitioner's first question, asked of the curve as a whole and not of a threshold."""

from typing import Literal

import numpy as np

from firstbreak.engine.stats.memo import once_a_curve
from firstbreak.engine.stats.noise import SD_PER_MAD, autocorrelation, effective_size, noise_scale, spread
from firstbreak.engine.stats.normal import quantile, z_to_t
from firstbreak.engine.stats.points import median, points, rescale
from firstbreak.engine.stats.smooth import without_spikes
from firstbreak.engine.stats.trend import theil_sen, trend
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass

Kind = Literal["rising", "plateau", "flat", "declining", "peaked", "collapsed", "oscillating", "too_short"]

MIN_POINTS = 4
FEW = 9  # levels below which nothing can be said of their wander
WINDOWS = 24  # levels at most; a curve of fewer points is its own levels
IMMATERIAL = 0.15  # of the gain: a smaller loss since the best is a wobble of the plateau
COLLAPSE = 0.7  # of the gain: a larger loss leaves little of what was learned
STILL_RISING = 0.07  # of the gain, won in the last third: less is a plateau
LINE = 4.0  # standard errors of a slope from the best on, which begins about 1.1 of them too steep: the best is picked
CLEAR = 3.0  # of these, where the order of the points shows a fall as well
STRAIGHT = 0.7  # of the pace of a straight rise, in the second half
SWING = 0.4  # of the range: a smaller move is no swing
EVALUATIONS = 5  # points in a window at most, of a curve whose points are told apart (convention)
SWINGS = 4  # up, down, up, down: one dip that recovers makes three


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """The course of a score (higher is better). Levels are window means in units of the score; NaN: too short."""

    kind: Kind
    start: float  #: level of the first window
    best: float  #: highest level
    best_step: (
        float  #: where the checkpoint is: of a few evaluations the best one there, else the middle of that window
    )
    end: float  #: level of the last window
    end_step: float  #: last step
    noise: float  #: sd of one point about the slow curve
    level_noise: float  #: standard error of a level, its wander from window to window included
    gain: float  #: best - start
    drop: float  #: best - end
    drop_sigma: float  #: drop in standard errors of its own; the best is one of many levels: 2 is nothing, 4 is much
    drop_interval: Interval  #: 95 %, the picking of the best allowed for; infinite if too short
    recent: float  #: change over the last third
    n: int  #: finite points
    beside: float = 0.0  #: share of its own gain that another score of the policy lost with it (see agreement.py)

    @property
    def drop_fraction(self) -> float:
        """Drop as a fraction of the gain: 0 nothing lost, 1 back at the start, more: below; infinite without gain."""
        if not self.drop > 0:
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


@once_a_curve
def trajectory(curve: Series | np.ndarray, sd: np.ndarray | None = None) -> Trajectory:
    """The shape of a score curve. O(n log n).

    `sd`: standard error of each point where it is known (spread over evaluation episodes / sqrt(episodes)), one per
    value of the curve; with few points it says more about the noise than the points do. Below some 50 points nothing can
    tell correlated noise from a course: a moving average (AR(1) 0.6) that goes nowhere is called lost one time in ten.
    """
    steps, values = points(curve)
    if len(values) < MIN_POINTS:
        return _too_short(len(values))
    z, centre, scale = rescale(values)
    calm = without_spikes(z)
    level, middle = _levels(calm)
    sampling = _sampling_error(calm, level, None if sd is None else _known_error(curve, sd, scale))
    error = max(sampling, _wander(level))
    sigma = error * np.sqrt(2.0)
    reached = level if sd is None else _levels(z)[0]  # a high point whose episodes are known is no stray one
    best = int(np.argmax(reached))
    gain, drop = reached[best] - reached[0], reached[best] - reached[-1]
    luck = quantile(1 - 0.5 / len(level))  # the best of k equal levels lies about so many errors too high
    sure = luck + (3.0 if sd is not None else z_to_t(3.0, (len(values) - 1) / 2))  # t: few points tell the error badly
    kind = _kind(calm, level, middle, error, sure, known=sd is not None)
    if kind == "rising" and sd is not None and _sinks(reached):
        kind = "plateau"
    if _swings(level, max(sure * sampling, SWING * float(np.ptp(level)))) >= SWINGS:
        kind = "oscillating"
    return Trajectory(
        kind=kind,
        start=_back(reached[0], centre, scale),
        best=_back(reached[best], centre, scale),
        best_step=float(steps[_highest(calm if sd is None else z, best, apart=told_apart(curve))]),
        end=_back(reached[-1], centre, scale),
        end_step=float(steps[-1]),
        noise=noise_scale(z) * scale,
        level_noise=error * scale,
        gain=float(gain) * scale,
        drop=float(drop) * scale,
        drop_sigma=float(drop / sigma),
        drop_interval=(float(drop - luck * sampling - 1.96 * sigma) * scale, float(drop + 1.96 * sigma) * scale),
        recent=_recent_change(level, error)[0] * scale,
        n=len(values),
    )


def _back(level: float, centre: float, scale: float) -> float:
    """A level in the curve's own unit: 0 where only the rounding of the two steps is left."""
    value = float(centre + scale * level)
    return 0.0 if abs(value) < 1e-12 * (abs(centre) + scale) else value


def sinks_late(curve: Series) -> bool:
    """Whether a score of few points ends lower than it was, no point taken for a spike: it does not still rise."""
    values = points(curve)[1]
    return MIN_POINTS <= len(values) < WINDOWS and _sinks(values)


@once_a_curve
def course(curve: Series | np.ndarray, *, spikes: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Middle steps and levels of the windows in which `trajectory` sees a curve, with spikes or without."""
    steps, values = points(curve)
    if not len(values):
        return steps, values
    z, centre, scale = rescale(values)
    level, middle = _levels(z if spikes else without_spikes(z))
    return steps[middle], centre + scale * level


def _too_short(n: int) -> Trajectory:
    nan, endless = float("nan"), (-float("inf"), float("inf"))
    return Trajectory(
        **dict.fromkeys(("start", "best", "best_step", "end", "end_step", "noise", "level_noise"), nan),
        **dict.fromkeys(("gain", "drop", "drop_sigma", "recent"), nan),
        kind="too_short",
        drop_interval=endless,
        n=n,
    )


def _kind(
    calm: np.ndarray, level: np.ndarray, middle: np.ndarray, error: float, sure: float, *, known: bool = False
) -> Kind:
    """Did it rise, did it fall and stay down, does it still rise?

    A move counts where it exceeds `sure` errors, or where a straight line says so: over the whole curve for the gain,
    from the best on for the loss.
    """
    best = int(np.argmax(level))
    end = level[-1]
    if len(level) == len(calm) and level[best] - end < 3 * sure * error:
        end = max(level[-2:])  # a single bad last evaluation is no fall, unless it is a huge one
    gain, drop = level[best] - level[0], level[best] - end
    slope = trend(calm, 0.99).direction
    rose = gain > sure * error or (slope > 0 and gain > 0)
    line = _slope(level[best:], error) if known else -np.inf
    after = (known and line < -LINE) or (line < -CLEAR and trend(calm[middle[best] :], 0.99).falling)
    fell = drop > sure * error or (drop > sure * error / 2 and after)
    if rose and fell and drop > IMMATERIAL * gain:
        return "collapsed" if drop > COLLAPSE * gain else "peaked"
    if rose:
        return "rising" if _still_rising(level, error) else "plateau"
    return "declining" if fell or slope < 0 else "flat"


def _slope(level: np.ndarray, error: float) -> float:
    """The slope of a line through levels whose error is known, in standard errors; 0 of fewer than 3."""
    x = np.arange(len(level)) - (len(level) - 1) / 2
    return float(x @ level) / (error * float(np.sqrt(x @ x))) if len(level) > 2 else 0.0


def _still_rising(level: np.ndarray, error: float) -> bool:
    """The last third won a share of the gain that noise does not explain; and this is not the way back from a dip."""
    best = int(np.argmax(level))
    gain, drop = level[best] - level[0], level[best] - level[-1]
    recent, doubt = _recent_change(level, error)
    below = best < 2 * len(level) // 3 and drop > IMMATERIAL * gain
    enough = max(STILL_RISING * gain, min(2 * doubt, gain / 6))  # where noise hides it: half of a steady rise, gain / 3
    return not below and (recent >= enough or _steady(level, gain, recent, doubt))


def _sinks(level: np.ndarray) -> bool:
    """Whether the last third lies below the third before, each point counted: evaluations with failed episodes are no spikes."""
    third = len(level) // 3
    return third > 1 and float(np.mean(level[-third:])) < float(np.mean(level[-2 * third : -third]))


def _steady(level: np.ndarray, gain: float, recent: float, doubt: float) -> bool:
    """The second half won as much as a straight rise does, and the last third may have: few levels hide how much it won."""
    half = level[len(level) // 2 :]
    x = np.arange(len(half), dtype=float)
    won = theil_sen(x, half)[0] * x[-1] if len(half) > 2 else 0.0
    pace = gain / (len(level) - 1)
    third = (max(3, len(level) // 3) - 1) * pace
    return won >= STRAIGHT * pace * x[-1] and recent + doubt >= third / 2


def width(n: int) -> int:
    """Points of a window, of a curve of n points."""
    return 1 if n < WINDOWS else max(3, -(-n // WINDOWS))


def told_apart(curve: Series | np.ndarray) -> bool:
    """Whether each point of a curve is a model that one can go back to: an evaluation, or one of a few."""
    return width(len(points(curve)[1])) <= EVALUATIONS or (isinstance(curve, Series) and curve.name.startswith("eval."))


def last(n: int) -> int:
    """Points of the last window, of a curve of n points."""
    return int(n - _edges(n)[-2])


def _edges(n: int) -> np.ndarray:
    """Where the windows of a curve of n points begin, and n."""
    return np.linspace(0, n, n // width(n) + 1).astype(int)


def _levels(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of consecutive windows (single points of a short curve) and the index in the middle of each."""
    edges = _edges(len(z))
    mean = np.add.reduceat(z, edges[:-1]) / np.diff(edges)
    return np.asarray(mean), (edges[:-1] + edges[1:] - 1) // 2


def _highest(z: np.ndarray, best: int, *, apart: bool) -> int:
    """The index of the best model: the highest point in the best window or beside it where each is an evaluation, else the
    middle of the window."""
    edges = _edges(len(z))
    start, end = edges[best], edges[best + 1]
    if not apart:
        return int(start + end - 1) // 2
    start, end = edges[max(0, best - 1)], edges[min(best + 2, len(edges) - 1)]
    return int(start + np.argmax(z[start:end]))


def _sampling_error(z: np.ndarray, level: np.ndarray, known: float | None) -> float:
    """Standard error of a level as a mean of noisy, correlated points."""
    sizes = np.diff(np.linspace(0, len(z), len(level) + 1).astype(int))
    rho, step = 0.0, np.diff(z)
    if len(level) < len(z):
        rho = float(np.clip(autocorrelation(z - np.repeat(level, sizes), fitted=len(level)), 0.0, 0.9))
        point = float(np.std(step)) / np.sqrt(2 * (1 - rho))
    else:  # few points: how they stray from a smooth curve, in the median, for one step may be all that was learned
        strays = np.diff(step)
        usual = SD_PER_MAD * median(np.abs(strays))
        point = (usual or float(np.sqrt(np.mean(strays**2)))) / np.sqrt(
            6.0
        )  # mostly equal values stray rarely, and far
    point = point if known is None else known
    return float(max(point / np.sqrt(effective_size(int(sizes.min()), rho)), 1e-9))


def _wander(level: np.ndarray) -> float:
    """sd of the levels about a smooth curve: what a score moves by from window to window without a lasting reason."""
    return spread(np.diff(level, 2)) / float(np.sqrt(6.0)) if len(level) >= FEW else 0.0


def _known_error(curve: Series | np.ndarray, sd: np.ndarray, scale: float) -> float:
    """Root mean square of the known standard errors of the finite points, on the scale of the rescaled curve."""
    values = np.asarray(curve.values if isinstance(curve, Series) else curve, float)
    known = np.asarray(sd, float)[np.isfinite(values)] / scale
    known = known[np.isfinite(known)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else 0.0


def _recent_change(level: np.ndarray, error: float) -> tuple[float, float]:
    """Change over the last third of the levels (the last 3 where there are few) along a robust line; its error."""
    tail = level[-max(3, len(level) // 3) :]
    x = np.arange(len(tail), dtype=float)
    slope, _ = theil_sen(x, tail)
    return slope * x[-1], error * x[-1] / float(np.sqrt(np.sum((x - x.mean()) ** 2)))


def _swings(level: np.ndarray, size: float) -> int:
    """Number of alternating moves of at least `size`, each from the extreme since the move before."""
    low = high = level[0]
    count = going = 0
    for value in level[1:]:
        low, high = min(low, value), max(high, value)
        if going != 1 and value - low >= size:
            count, going, high = count + 1, 1, value
        elif going != -1 and high - value >= size:
            count, going, low = count + 1, -1, value
    return count
