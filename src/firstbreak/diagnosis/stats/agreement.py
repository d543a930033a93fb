"""Did a score fall, where another score of the same policy is logged beside it?

Two scores that fall together prove what each of them only suggests: their errors are independent, so their z-values add up
(Stouffer 1949). And the course of the other score until then says how the first one would have risen, so that ten
evaluations tell the noise from the course.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from firstbreak.diagnosis.stats.normal import t_to_z
from firstbreak.diagnosis.stats.points import block_means, points
from firstbreak.diagnosis.stats.shape import COLLAPSE, IMMATERIAL, Kind, Trajectory
from firstbreak.diagnosis.stats.smooth import smooth, without_spikes
from firstbreak.diagnosis.stats.trend import line_under_ar1
from firstbreak.model import Series

MIN_POINTS = 8  # of either score
PLACES = 16  # at most, where a fall may begin
BLOCKS = 200  # of the other score
AFTER = 2  # points after the place at which a fall begins
GAIN = 0.25  # of the fall: a score that never rose did not peak
OWN = 0.5  # z of each of two scores that fall together
#: z of the clearest of all places. Real scores wander: the 220 healthy runs of the lab with two scores show 3.8 at most, and
#: 4.4 where they are cut at 40, 60 or 80 % of their steps (python -m benchmarks.falls)
SUGGESTED = 3.8
SURE = 4.5


@dataclass(frozen=True, kw_only=True)
class Fall:
    """A fall of a score, as it is seen beside another score. Levels are those of a fitted course."""

    step: float  #: where it begins
    sigma: float  #: how sure it is, of both scores where both fall: a z-value
    start: float
    best: float
    end: float
    beside: float  #: share of its own gain that the other score lost as well; 0 where that one does not fall

    @property
    def sure(self) -> bool:
        """Clearer than what healthy scores lose and regain."""
        return self.sigma > SURE

    @property
    def drop(self) -> float:
        """Best - end."""
        return self.best - self.end

    @property
    def gain(self) -> float:
        """Best - start."""
        return self.best - self.start


def fall(curve: Series, beside: Series) -> Fall | None:
    """The clearest fall of `curve` to its end, or None where chance explains it.

    The course up to the place where it begins is that of `beside`, in any unit; from there on it is a line.
    """
    steps, values = points(curve)
    others, raw = points(beside)
    if min(len(steps), len(others)) < MIN_POINTS or np.ptp(others) == 0 or curve.axis != beside.axis:
        return None
    grid, level = smooth(beside)
    course = np.interp(steps, grid, level)
    calm = block_means(others, BLOCKS)[0], block_means(without_spikes(raw), BLOCKS)[0]
    found = [_at(steps, values, course, calm, place) for place in _places(len(steps))]
    best = max(found, key=lambda one: one.sigma, default=None)
    if best is None or best.sigma <= SUGGESTED or best.drop <= IMMATERIAL * best.gain or best.gain < GAIN * best.drop:
        return None
    return best


def informed(shape: Trajectory, found: Fall | None) -> Trajectory:
    """The shape of a score, where a fall of it is seen beside another score: its levels stay those of the curve."""
    if found is None or not (shape.lost or (found.sure and shape.drop_fraction > IMMATERIAL)):
        return shape
    if shape.lost:
        return replace(shape, beside=found.beside)
    kind: Kind = "collapsed" if shape.drop_fraction > COLLAPSE else "peaked"
    return replace(shape, kind=kind, phase="none", drop_sigma=found.sigma, beside=found.beside)


def _places(n: int) -> Iterator[int]:
    """Where a fall may begin: after the first point, and with `AFTER` points to come."""
    yield from np.unique(np.linspace(1, n - 1 - AFTER, min(PLACES, n - 1 - AFTER)).astype(int)).tolist()


def _at(
    steps: np.ndarray, values: np.ndarray, course: np.ndarray, other: tuple[np.ndarray, np.ndarray], place: int
) -> Fall:
    """The fall that begins at one place, if any: its z-value is that of the curve, or that of both where it is larger."""
    at = float(steps[place])
    rise = np.where(steps > at, course[place], course)
    away = np.maximum(steps - at, 0.0) / (steps[-1] - at)
    own, start, best, end = _bent(rise, away, values)
    later = other[0] >= at
    too = _falling(other[0][later], other[1][later])
    top, first, last = float(course[place]), float(course[0]), float(course[-1])
    beside = (top - last) / (top - first) if top > max(first, last) else 0.0
    if min(own, too) <= OWN or beside <= IMMATERIAL:
        return Fall(step=at, sigma=own, start=start, best=best, end=end, beside=0.0)
    return Fall(step=at, sigma=max(own, (own + too) / 2**0.5), start=start, best=best, end=end, beside=beside)


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
    if len(values) < 5 or np.ptp(values) == 0:
        return 0.0
    x = (steps - steps[0]) / (steps[-1] - steps[0])
    slope, _, error, _ = line_under_ar1(x, values)
    return float(t_to_z(-slope / error, len(values) - 2)) if error > 0 else 0.0
