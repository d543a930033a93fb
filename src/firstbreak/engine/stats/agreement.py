"""Did a score fall, where another score of the same policy is logged beside it?

Two scores that fall together prove what each of them only suggests: their errors are independent, so their z-values add up
(Stouffer 1949). And the course of the other score until then says how the first one would have risen, so that ten
evaluations tell the noise from the course.
"""

from collections.abc import Iterator

import numpy as np

from firstbreak.engine.stats.normal import t_to_z, z_to_t
from firstbreak.engine.stats.points import block_means, distinct, median, points, rescale
from firstbreak.engine.stats.shape import COLLAPSE, IMMATERIAL, Kind, Trajectory, trajectory
from firstbreak.engine.stats.shape import course as course_of
from firstbreak.engine.stats.smooth import smooth, without_spikes
from firstbreak.engine.stats.trend import line_under_ar1, trend
from firstbreak.model import Series
from firstbreak.values import dataclass, replace

MIN_POINTS = 8  # of either score
PLACES = 16  # at most, where a fall may begin
BLOCKS = 200  # of the other score
AFTER = 2  # points after the place at which a fall begins
BEFORE = 3  # points up to a place at which an evaluation stops following training
AT_ONCE = 6.0  # standard errors between the first score and the highest later one
NEARLY_ALL = 0.9  # of the first score (convention)
APART = 0.1  # of what training gained: a smaller distance is no parting (convention)
FOLLOWED = 0.5  # of what training gains: an evaluation that gained so much followed it (convention)
STAYED = 1 / 3  # of what training gains: an evaluation that gains less at most does not follow it (convention)
ONE_SIDED = 1.64  # standard errors: 95 % of a normal distribution lie below
GAIN = 0.25  # of the fall: a score that never rose did not peak
SAME = 2.0  # standard errors between two scores, up to which they measure one thing
ERRORS = 1.96  # standard errors in half of a 95 % interval
TELLS = 0.2  # of the gain: a larger error says nothing (convention)
GOES_ON = 1 / 8  # of the gain, won in the second half: less is a plateau (convention)
OWN = 0.5  # z of each of two scores that fall together
#: z of the clearest of all places: from which on a fall is suggested, and from which on it is sure. Real scores wander: the
#: 220 healthy runs of the lab with two scores show 3.8 at most, and 4.4 where they are cut at 40, 60 or 80 % of their steps
#: (LOG.md, Statistics and scores)
TOGETHER = (3.8, 4.5)
#: the same of up to `FEW` evaluations that fall while training does not: what a policy really loses for a while, both scores
#: lose. The same healthy runs show 3.1 at most, and curves of 10 evaluations without a fall 2.6 (of 500)
ALONE = (3.3, 3.8)
FEW = 25
#: z from which on an evaluation has stopped following training; the same healthy runs show 4.1 at most
PARTED = 4.5


@dataclass(frozen=True, kw_only=True)
class Fall:
    """A fall of a score, as it is seen beside another score. Levels are those of a fitted course."""

    step: float  #: where it begins
    sigma: float  #: how sure it is, of both scores where both fall: a z-value
    start: float
    best: float
    end: float
    beside: float  #: share of its own gain that the other score lost as well; 0 where that one does not fall
    limits: tuple[float, float]  #: of sigma: `TOGETHER` or `ALONE`

    @property
    def margin(self) -> float:
        """How far sigma lies above the first of its limits."""
        return self.sigma - self.limits[0]

    @property
    def sure(self) -> bool:
        """Clearer than what healthy scores lose and regain."""
        return self.sigma > self.limits[1]

    @property
    def material(self) -> bool:
        """More is lost than a wobble of the plateau, and it was gained before."""
        return self.drop > IMMATERIAL * self.gain and self.gain >= GAIN * self.drop

    @property
    def drop(self) -> float:
        """Best - end."""
        return self.best - self.end

    @property
    def gain(self) -> float:
        """Best - start."""
        return self.best - self.start


def shares(*curves: Series) -> bool:
    """Whether all lie between 0 and 1: the same change means the same in each."""
    return all(curve.finite.values.min() >= 0 and curve.finite.values.max() <= 1 for curve in curves)


def comparable(evaluation: Series, reward: Series) -> bool:
    """Whether an evaluation has the unit of the training reward: it is that reward itself, or both are shares."""
    return evaluation.name == "eval.reward" or shares(evaluation, reward)


def fall(curve: Series, beside: Series) -> Fall | None:
    """The clearest fall of `curve` to its end, or None where chance explains it.

    The course up to the place where it begins is that of `beside`, in any unit; from there on it is a line.
    """
    steps, values = points(curve)
    others, raw = points(beside)
    course = _course_beside(curve, beside)
    if course is None:
        return None
    calm = block_means(others, BLOCKS)[0], block_means(without_spikes(raw), BLOCKS)[0]
    found = [_at(steps, values, course, calm, place) for place in _places(len(steps))]
    best = max((one for one in found if one.material), key=lambda one: one.margin, default=None)
    return best if best is not None and best.margin > 0 else None


def _course_beside(curve: Series, beside: Series) -> np.ndarray | None:
    """The smoothed level of `beside` at the steps of `curve`; None where either is too short, or it does not move."""
    steps, others = points(curve)[0], points(beside)[0]
    if min(len(steps), len(others)) < MIN_POINTS or np.ptp(others) == 0 or curve.axis != beside.axis:
        return None
    grid, level = smooth(beside)
    course: np.ndarray = np.interp(steps, grid, level)
    return course


def denies(evaluation: Series, reward: Trajectory) -> bool:
    """Whether an evaluation shows that the policy did not lose what the training reward lost.

    It does where it certainly rose until then, and since then certainly lost a smaller share of its gain (95 % each). An
    evaluation that never rose, or of few or noisy points, denies nothing.
    """
    steps, levels = course_of(evaluation)
    if len(levels) < MIN_POINTS:
        return False
    some = max(2, len(levels) // 5)
    nearest = np.argsort(np.abs(steps - reward.best_step), kind="stable")[:some]
    first, top, last = (float(np.mean(part)) for part in (levels[:some], levels[nearest], levels[-some:]))
    doubt = ONE_SIDED * trajectory(evaluation).level_noise * (2 / some) ** 0.5
    return bool(top - first > doubt and top - last + doubt < reward.drop_fraction * (top - first))


@dataclass(frozen=True, kw_only=True)
class Parting:
    """Where an evaluation stops following the training reward, in the unit of both."""

    step: float  #: since when
    sigma: float  #: how sure it is that the evaluation gained less than training since then: a z-value
    most: float  #: share of what training gained since then that the evaluation gained at most (95 %)


def parting(evaluation: Series, reward: Series) -> Parting | None:
    """The clearest place from which on training gains and the evaluation does not, although it had followed before.

    Both must have one unit (`comparable`). None where the evaluation is as high as training in the end: a greedy policy
    that succeeds before the sampled one waits for it.
    """
    steps, values = points(evaluation)
    course = _course_beside(evaluation, reward)
    if course is None:
        return None
    last = max(3, len(steps) // 5)
    if float(median(course[-last:]) - median(values[-last:])) < APART * float(np.ptp(course)):
        return None
    found = (_parting(steps, values, course, place) for place in _places(len(steps)) if place >= BEFORE - 1)
    clear = (one for one in found if one is not None and one.sigma > PARTED and one.most < STAYED)
    return max(clear, key=lambda one: one.sigma, default=None)


def _parting(steps: np.ndarray, values: np.ndarray, course: np.ndarray, place: int) -> Parting | None:
    """The parting at one place: a line of the evaluation over what training gained since then.

    Up to there the evaluation gained what training did, or the smaller share that its own line shows: that of one of the
    parts whose sum the reward is.
    """
    before = course[: place + 1] - course[0]
    if course[-1] - course[place] < APART * np.ptp(course) or np.ptp(before) == 0:
        return None
    x = before - before.mean()
    followed = float(x @ values[: place + 1] / (x @ x))
    if followed < FOLLOWED:
        return None
    strays = values[: place + 1] - values[: place + 1].mean() - followed * x
    doubt = float(np.sqrt(strays @ strays / max(place - 1, 1) / (x @ x)))
    pace = followed if followed + ERRORS * doubt < 1 else 1.0
    since = np.where(np.arange(len(steps)) > place, course - course[place], 0.0)
    design = np.column_stack([np.ones(len(steps)), since])
    above = values - pace * (course - since)
    fitted = np.linalg.lstsq(design, above, rcond=None)[0]
    df = len(steps) - 2
    residual = above - design @ fitted
    error = float(np.sqrt(residual @ residual / df / np.sum((since - since.mean()) ** 2)))
    share = float(fitted[1])
    z = float(t_to_z((pace - share) / max(error, 1e-12), df))
    return Parting(step=float(steps[place]), sigma=z, most=(share + z_to_t(ONE_SIDED, df) * error) / pace)


def from_the_first(score: Series, error: Series | None, shape: Trajectory) -> Trajectory:
    """The shape of a share whose first value, before any training, lies far above all later ones: it fell at once.

    Levels are means of neighbouring values, and hide it. `error` (n,): the standard errors of shares of so many problems;
    where it is not known, nearly all has to be gone.
    """
    values = score.finite.values
    if len(values) < MIN_POINTS or values.min() < 0 or values.max() > 1:
        return shape
    errors = None if error is None or len(error.finite) != len(values) else error.finite.values
    least = NEARLY_ALL * values[0] if errors is None else AT_ONCE * float(np.hypot(errors[0], errors[1:].max()))
    if values[0] - values[1:].max() <= least:
        return shape
    lost, doubt = (
        float(values[0]) - shape.end,
        ERRORS * float(np.hypot(shape.level_noise if errors is None else errors[0], shape.level_noise)),
    )
    return replace(
        shape,
        kind="declining",
        start=float(values[0]),
        best=float(values[0]),
        best_step=float(score.finite.steps[0]),
        gain=0.0,
        drop=lost,
        drop_sigma=ERRORS * lost / doubt,
        drop_interval=(lost - doubt, lost + doubt),
    )


def informed(shape: Trajectory, found: Fall | None) -> Trajectory:
    """The shape of a score, where a fall of it is seen beside another score: its levels stay those of the curve."""
    if found is None or not (shape.lost or (found.sure and shape.drop_fraction > IMMATERIAL)):
        return shape
    if shape.lost:
        return replace(shape, beside=found.beside)
    kind: Kind = "collapsed" if shape.drop_fraction > COLLAPSE else "peaked"
    return replace(shape, kind=kind, drop_sigma=found.sigma, beside=found.beside)


def together(own: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Two measurements of one share and their errors: by the weight of each, or the first alone where they contradict."""
    doubts = np.array((own[1], other[1]))
    if not np.all(np.isfinite(doubts) & (doubts > 0)) or abs(own[0] - other[0]) > SAME * float(np.hypot(*doubts)):
        return own
    weights = doubts**-2
    return float(weights @ (own[0], other[0]) / weights.sum()), float(weights.sum() ** -0.5)


def won_late(curve: Series, error: np.ndarray | None = None) -> tuple[float, float]:
    """The share of its gain that a score won in its second half, along a line, and the error of that share.

    `error`: standard error of each value where it is known. Infinite error: no gain, or too few points.
    """
    steps, values = points(curve)
    half = steps >= (steps[0] + steps[-1]) / 2 if len(steps) else steps > 0
    gain = trajectory(curve).gain
    if half.sum() < 3 or not gain > 0:
        return 0.0, np.inf
    x, y = steps[half] - steps[half].mean(), values[half]
    span = float(np.ptp(x)) / gain
    if error is None:
        line = trend(replace(curve, steps=steps[half], values=y))
        low, high = line.interval
        return (low + high) / 2 * span, (high - low) / 2 / ERRORS * span
    sd = float(np.sqrt(np.mean(np.square(error[-len(steps) :][half]))))
    return float(x @ y / (x @ x)) * span, sd / float(np.sqrt(x @ x)) * span


def going_on(shape: Trajectory, own: tuple[float, float], other: tuple[float, float]) -> Trajectory:
    """The shape of a score that rose, where another score of the policy tells with it whether it still does."""
    if shape.kind not in ("rising", "plateau") or not np.isfinite(own[1]) or other[1] > TELLS:
        return shape
    return replace(shape, kind="rising" if together(own, other)[0] >= GOES_ON else "plateau")


def _places(n: int) -> Iterator[int]:
    """Where a fall may begin: after the first point, and with `AFTER` points to come."""
    yield from distinct(np.linspace(1, n - 1 - AFTER, min(PLACES, n - 1 - AFTER)).astype(int)).tolist()


def _at(
    steps: np.ndarray, values: np.ndarray, course: np.ndarray, other: tuple[np.ndarray, np.ndarray], place: int
) -> Fall:
    """The fall that begins at one place, if any: its z-value is that of the curve, or that of both where it is larger."""
    at = float(steps[place])
    rise = np.where(steps > at, course[place], course)
    with np.errstate(over="ignore", invalid="ignore"):  # steps may span more than a float holds
        away = np.maximum(steps - at, 0.0) / (steps[-1] - at)
    own, start, best, end = _bent(rise, away, values)
    later = other[0] >= at
    too = _falling(other[0][later], other[1][later])
    top, first, last = float(course[place]), float(course[0]), float(course[-1])
    beside = (top - last) / (top - first) if top > max(first, last) else 0.0
    if min(own, too) <= OWN or beside <= IMMATERIAL:
        limits = ALONE if len(steps) <= FEW else TOGETHER
        return Fall(step=at, sigma=own, start=start, best=best, end=end, beside=0.0, limits=limits)
    both = max(own, (own + too) / 2**0.5)
    return Fall(step=at, sigma=both, start=start, best=best, end=end, beside=beside, limits=TOGETHER)


def _bent(rise: np.ndarray, away: np.ndarray, values: np.ndarray) -> tuple[float, float, float, float]:
    """z of the fall of a + b rise - c away, b >= 0, and the fitted levels at the start, at the bend and at the end."""
    scale = max(float(np.abs(values).max()), float(np.abs(rise).max()))
    if (
        not 1e-300 < scale < 1e300 or not np.isfinite(away).all()
    ):  # no squares of such numbers; or all points at one step
        return 0.0, float(values[0]), float(values[0]), float(values[0])
    values, rise = values / scale, rise / scale
    design = np.column_stack([np.ones(len(values)), rise - rise[0], away])
    if np.ptp(rise) == 0 or np.linalg.lstsq(design, values, rcond=None)[0][1] < 0:
        design = design[:, [0, 2]]
    fitted = np.linalg.lstsq(design, values, rcond=None)[0]
    df = len(values) - design.shape[1]
    residual = values - design @ fitted
    error = np.sqrt(float(residual @ residual) / df * np.linalg.pinv(design.T @ design)[-1, -1])
    start = float(fitted[0])
    best = start + (float(fitted[1]) * float(rise[-1] - rise[0]) if len(fitted) == 3 else 0.0)
    drop = -float(fitted[-1])
    z = float(t_to_z(drop / max(error, 1e-12 * max(1.0, abs(drop))), df))
    return z, start * scale, best * scale, (best - drop) * scale


def _falling(steps: np.ndarray, values: np.ndarray) -> float:
    """z of a line that falls."""
    span = steps[-1] / 2 - steps[0] / 2 if len(steps) else 0.0  # halves: steps may span more than a float holds
    scaled = rescale(values)[0]
    if len(values) < 5 or not scaled.any() or not span > 0:
        return 0.0
    slope, _, error = line_under_ar1((steps / 2 - steps[0] / 2) / span, scaled)
    return float(t_to_z(-slope / error, len(values) - 2)) if error > 0 else 0.0
