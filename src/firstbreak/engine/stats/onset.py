"""Did something change, when, and how? The engine is `breaks`; here are the verdict and its calibration."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from firstbreak.engine.stats.breaks import MEAN, Break, Kind, find_breaks
from firstbreak.engine.stats.points import block_means, points, rescale
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass

KINDS: tuple[Kind, ...] = ("level", "ramp", "variance")
MIN_POINTS = 12
BLOCKS = 512  # longer curves are looked at as this many block means
SOMEWHERE = 0.75  # of the curve: a change that may lie anywhere in so much of it is no onset


@dataclass(frozen=True, kw_only=True)
class Onset:
    """A change of behaviour that a healthy curve would hardly show."""

    step: float  #: the most likely first changed point
    interval: Interval  #: where that point lies (coverage measured: at least 90 %)
    kind: Kind
    direction: int  #: 1 up (or noisier), -1 down (or calmer)
    size: float  #: in noise sd: of the level, at the end for a ramp; for variance, log2 of the ratio of the sd
    before: float  #: level (or sd of the noise) just before
    after: float  #: level right after, at the end for a ramp (or sd of the noise afterwards)
    p: float  #: probability of so clear a break in a healthy curve

    @property
    def confidence(self) -> float:
        """1 - p."""
        return 1 - self.p


def onset(
    curve: Series | np.ndarray,
    direction: int | None = None,
    kinds: Sequence[Kind] = KINDS,
    level: float = 0.05,
    families: Sequence[str] | None = None,
) -> Onset | None:
    """The clearest break of a curve, or None where a healthy curve would look as broken with probability `level`;
    None too where the change could lie nearly anywhere.

    `direction` 1 looks only for breaks upwards (or into noise), -1 only downwards (or into calm). `families`: the shapes of
    `smooth.healthy_shapes` that the healthy curve can have, where that is known (("constant",) for a quantity that should
    not move): what is known to be healthy lets smaller breaks be seen. Some 10 ms.
    """
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    if len(z) < MIN_POINTS or not z.any() or steps[0] == steps[-1]:
        return None
    y, width = block_means(z, BLOCKS)
    known = None if families is None else tuple(sorted(set(families)))
    tests = any(k in MEAN for k in kinds) + ("variance" in kinds)
    found = [(min(1.0, tests * p_value(b)), b) for b in find_breaks(y, tuple(kinds), direction, known)]
    found = [(p, b) for p, b in found if p <= level and b.high - b.low < SOMEWHERE * len(y)]
    if not found:
        return None
    p, best = min(found, key=lambda pair: (pair[0], -pair[1].ratio))
    shift = centre if best.kind in MEAN else 0.0
    return Onset(
        step=float(steps[best.at * width]),
        interval=(float(steps[(best.low - 1) * width + 1]), float(steps[min((best.high + 1) * width, len(steps)) - 1])),
        kind=best.kind,
        direction=1 if best.size > 0 else -1,
        size=abs(best.size),
        before=shift + scale * best.before,
        after=shift + scale * best.after,
        p=p,
    )


def first_sustained(
    curve: Series | np.ndarray, predicate: Callable[[np.ndarray], np.ndarray], count: int = 5, fraction: float = 0.8
) -> float | None:
    """The first step that fulfils `predicate` (values -> bool) with `fraction` of the `count` points from it on."""
    steps, values = points(curve)
    count = min(count, len(values))
    if count == 0:
        return None
    hit = np.asarray(predicate(values), bool)
    hits = np.concatenate([[0], np.cumsum(hit)])
    share = (hits[count:] - hits[:-count]) / count
    start = np.flatnonzero(hit[: len(share)] & (share >= fraction - 1e-9))
    return float(steps[start[0]]) if len(start) else None


def since_last(curve: Series, step: float) -> Interval:
    """Where a change lies that the point at `step` is the first to show: after the point before it, where there is one."""
    before = curve.steps[curve.steps < step]
    return (float(before[-1]) if len(before) else step), step


def p_value(candidate: Break) -> float:
    """Probability of such a likelihood ratio or more in a healthy curve.

    The ratio's tail falls exponentially. Where it begins depends on the correlation of the noise and on little else that
    was tried: 12 to 500 points, AR(1) 0 to 0.95, tails from t3 to normal, healthy shapes in and outside the family. The
    constants are 2.5 % points and slopes: `python -m benchmarks.statistics calibrate` prints them again. Where AR(1) 0.95
    meets t3 the true probability is about twice as large: one wild innovation of such noise is a lasting jump.
    """
    if candidate.kind == "variance":
        start, slope = 12.5, 2.3
    else:
        start = (17.5 if candidate.kind == "burst" else 15.0) + 11.0 * candidate.rho
        slope = 3.3 + 1.5 * candidate.rho
    return min(1.0, 0.025 * math.exp(-(candidate.ratio - start) / slope))
