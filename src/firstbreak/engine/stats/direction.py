"""Did a curve go up, or down, in whatever way, and when did it leave its first level? Did it move at a step that is known?"""

import numpy as np

from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.memo import once_a_curve
from firstbreak.engine.stats.noise import autocorrelation, effective_size, noise_scale
from firstbreak.engine.stats.normal import t_to_z
from firstbreak.engine.stats.onset import first_sustained, onset
from firstbreak.engine.stats.points import median, points
from firstbreak.engine.stats.shape import IMMATERIAL, Trajectory, trajectory
from firstbreak.engine.stats.smooth import means_from_here
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass, replace

NEAR = 0.15  # of the points, 3 at least: what a level beside a known step is taken from
AGAIN = 2 / 3  # of a loss: one of this size that was regained shows that such losses are swings (convention)
MUCH = 1 / 2  # of the gain: before that, a dip of the level is no loss (convention)
SURE, LIKELY = 3.0, 2.0  # standard errors: the step is given, and no place is picked from many


@dataclass(frozen=True, kw_only=True)
class Move:
    """The levels of a curve before and after a step that something else has named."""

    before: float
    after: float
    sigma: float  #: by how many standard errors it rose


def move(curve: Series, step: float, *, at_once: bool = True) -> Move | None:
    """How a curve moved at a known step; None with fewer than 3 points on either side.

    `at_once`: the level right after the step counts, else the one in the second half of what comes after.
    """
    steps, values = points(curve)
    old, new = values[steps < step], values[steps >= step]
    width = max(3, round(NEAR * len(values)))
    if min(len(old), len(new)) < 3:
        return None
    old, new = old[-width:], new[:width] if at_once else new[-max(width, len(new) // 2) :]
    left = np.concatenate([old - old.mean(), new - new.mean()])
    rho = max(0.0, autocorrelation(left, fitted=2))
    sd = noise_scale(values) or float(np.std(left))
    error = sd * float(np.sqrt(sum(1 / effective_size(len(side), rho) for side in (old, new))))
    before, after = float(old.mean()), float(new.mean())
    t = (after - before) / error if error > 0 else float(np.sign(after - before)) * np.inf
    return Move(before=before, after=after, sigma=t_to_z(t, len(values) - 2) if after != before else 0.0)


def fell_since(step: float, *scores: Series | None, errors: float = LIKELY) -> bool:
    """Whether the scores of a run end below their level before a known step, by more than noise and a wobble of the gain.

    Something else says which step it is, and no place is picked from many: a loss is seen that a curve alone hides. The
    evaluation and the training reward are judged together (Stouffer's sum), and one that went up denies it.
    """
    moves = [(score, move(score, step, at_once=False)) for score in scores if score is not None]
    known = [(score, moved) for score, moved in moves if moved is not None]
    down = [m.before - m.after > IMMATERIAL * (m.before - trajectory(score).start) for score, m in known]
    together = sum(m.sigma for _, m in known) / len(known) ** 0.5 if known else 0.0
    return bool(down) and all(down) and together <= -errors


def rises(curve: Series) -> bool:
    """Up beyond its noise: as a line, or to a level that it did not have before and keeps.

    A line alone misses a step: its long correlated residuals look like a random walk, which is not a trend.
    """
    return trend(curve).rising or trajectory(curve).kind in ("rising", "plateau")


def recovers(curve: Series, level: float, since: float, share: float = 1 / 3) -> bool:
    """Whether a score that fell from a level at a step is on its way back: it has risen ever since its lowest level, for a
    quarter of the log or more, and has made up this share of the fall or more."""
    steps, values = points(curve)
    width = max(3, len(values) // 10)
    if len(values) < 4 * width:
        return False
    levels = means_from_here(values, width)
    began = int(np.searchsorted(steps, since))
    if began >= len(levels) - width:
        return False
    low = began + int(np.argmin(levels[began:]))
    regained, fall = levels[-1] - levels[low], level - levels[low]
    return len(values) - low >= len(values) / 4 and regained >= share * fall and rises(curve.between(float(steps[low])))


def came_back(curve: Series, shape: Trajectory) -> bool:
    """Whether the score once lost about as large a share of its gain so far as it has lost now, and regained all of it."""
    levels = means_from_here(points(curve)[1], max(3, shape.n // 10))
    highest, later = np.maximum.accumulate(levels), np.maximum.accumulate(levels[::-1])[::-1]
    gain = highest - shape.start
    lost = np.divide(highest - levels, gain, out=np.zeros(len(levels)), where=gain > MUCH * shape.gain)
    return bool(np.any((later >= highest) & (lost >= AGAIN * shape.drop_fraction)))


def falls(curve: Series) -> bool:
    """Down beyond its noise, as a line or to a level that it keeps."""
    return rises(_turned(curve))


@once_a_curve
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
        return _halfway(score.between(best).finite) or (best, (best, float(score.steps[-1])))
    step, (_, latest) = found
    return step, (best, max(step, latest))


def _halfway(score: Series) -> tuple[float, Interval] | None:
    """The first point from which on a score stays nearer to its end than to its best: for courses of few points."""
    values = score.values
    if len(values) < 2:
        return None
    below = values < (np.max(values) + median(values[-2:])) / 2
    first = for_good(below, 1.0)
    return None if not first else (float(score.steps[first]), (float(score.steps[0]), float(score.steps[first])))


def _turned(curve: Series) -> Series:
    return replace(curve, values=-curve.values)
