"""The first step at which the curves of two arms differ, for each link.

For each signal that both arms record, the difference of their means is compared with two kinds of noise: the noise of the
curve from point to point, and the spread between the seeds of an arm. Curves differ where the difference stays above both.
With one run on each side there is no spread between seeds: then a difference shows that the runs are different, and not
that the settings are the reason.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from firstbreak.compare.arms import Arm
from firstbreak.compare.judge import other_task
from firstbreak.dialects import signals
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.model import Link, Series
from firstbreak.values import dataclass

POINTS = 60  #: bins in which curves are compared: enough to locate a step, few enough to average out noise
BEYOND = 4.0  #: standard errors: among about 6,000 comparisons of a report none exceeds this by chance
CLOCKS = ("time.unix", "time.elapsed")
STAYS = 5  #: four of this many bins must lie outside


@dataclass(frozen=True)
class FirstDifference:
    """A signal in which two arms differ, and the first step at which they do."""

    link: Link
    metric: str
    step: float  #: the difference stays from this step on
    left: float  #: the value at this step, the mean over the runs of a side
    right: float
    size: float  #: median difference in standard errors, from this step on


def first_differences(left: Arm, right: Arm) -> list[FirstDifference]:
    """For each link the signal that differs first, in the order of the loop. Empty where no common curve differs.

    Of sides that are trained on other tasks, every curve differs, and it says nothing.
    """
    names = () if other_task(left, right) else common([left, right])
    found = filter(None, (first_difference(name, _curves(left, name), _curves(right, name)) for name in names))
    first: dict[Link, FirstDifference] = {}
    for p in sorted(found, key=lambda p: (p.step, -p.size)):
        first.setdefault(p.link, p)
    return sorted(first.values(), key=lambda p: p.link.order)


def earliest(found: Sequence[FirstDifference]) -> FirstDifference:
    """The one that came first. Speed and memory differ between machines without a reason in the loop: only if alone."""
    return min(found, key=lambda p: (p.link is Link.SYSTEMS, p.step, -p.size))


def first_difference(name: str, left: Sequence[Series], right: Sequence[Series]) -> FirstDifference | None:
    """Where the means of two sets of curves first differ, or None."""
    signal = signals.lookup(name.partition("@")[0])
    places = grid([*left, *right])
    if signal is None or signal.link is None or len(places) < STAYS:
        return None
    one, other = (np.stack([at(curve, places) for curve in curves]) for curves in (left, right))
    gap = other.mean(axis=0) - one.mean(axis=0)
    error = _error(one, other, gap)
    if error == 0:  # without noise, every difference counts
        error = 1e-9 * max(float(np.abs(one).max()), float(np.abs(other).max()), 1e-300)
    edge = first_sustained(Series(name=name, steps=places, values=gap / error), lambda z: np.abs(z) > BEYOND, STAYS)
    if edge is None:
        return None
    after = places >= edge
    step, *there = _first_point(left, right, edge, places[1] - places[0], gap[after][0] / 2)
    return FirstDifference(signal.link, name, step, there[0], there[1], float(np.median(np.abs(gap[after]))) / error)


def _first_point(
    left: Sequence[Series], right: Sequence[Series], edge: float, width: float, least: float
) -> tuple[float, float, float]:
    """The first logged step from which the sides stay `least` apart, in the bin that ends at `edge` or the one before, and
    the values there. Among noise, the first point of the bin that lies so far apart.
    """
    begin = max(curve.steps[0] for curve in (*left, *right))
    logged = np.unique(np.concatenate([curve.steps for curve in (*left, *right)]))
    logged = logged[(logged >= begin) & (logged > edge - 2 * width)]
    last = [[c.values[np.searchsorted(c.steps, logged, side="right") - 1] for c in side] for side in (left, right)]
    one, other = (np.mean(values, axis=0) for values in last)
    apart = (other - one) / least > 1
    found = first_sustained(Series(name="", steps=logged, values=apart), lambda far: far > 0, STAYS, 1.0)
    late = found is None or found > edge
    first = int(np.argmax(apart & (logged > edge - width) if late else logged >= found))
    return float(logged[first]), float(one[first]), float(other[first])


def grid(curves: Sequence[Series]) -> np.ndarray:
    """Right edges of equal bins over the steps that all curves cover. Each bin holds a point of every curve."""
    start, end = max(c.steps[0] for c in curves), min(c.steps[-1] for c in curves)
    inside = [int(np.sum((c.steps >= start) & (c.steps <= end))) for c in curves]
    n = min(POINTS, *inside)
    if n < 2 or start >= end:
        return np.array([])
    return np.linspace(start, end, n + 1)[1:]


def at(curve: Series, places: np.ndarray) -> np.ndarray:
    """Mean of the curve in each bin, interpolated where a bin is empty. `places` are the right edges of the bins."""
    width = places[1] - places[0]
    edges = np.concatenate([[places[0] - width], places])
    steps, values = curve.steps, curve.values
    bins = np.clip(np.searchsorted(edges, steps, side="left") - 1, 0, len(places) - 1)
    keep = (steps >= edges[0]) & (steps <= edges[-1])
    counts = np.bincount(bins[keep], minlength=len(places))
    sums = np.bincount(bins[keep], values[keep], minlength=len(places))
    filled = counts > 0
    means = sums[filled] / counts[filled]
    return np.asarray(np.interp(places, places[filled], means))


def _error(one: np.ndarray, other: np.ndarray, gap: np.ndarray) -> float:
    """Standard error of the difference of the means: the larger one of the noise of points and the spread of seeds.

    The spread between seeds is pooled over all bins, so three seeds on each side are enough.
    """
    arms = [arm for arm in (one, other) if len(arm) > 1]
    freedom = sum(len(arm) - 1 for arm in arms)
    if not freedom:
        return noise_scale(gap)
    variance = sum((len(arm) - 1) * np.median(arm.var(axis=0, ddof=1)) for arm in arms) / freedom
    seeds = math.sqrt(float(variance) * (1 / len(one) + 1 / len(other)))
    return max(noise_scale(gap), seeds)


def _curves(arm: Arm, name: str) -> list[Series]:
    return [member.run.series[name].finite for member in arm.members]


def common(compared: Sequence[Arm]) -> Iterator[str]:
    """The signals with enough points in every run, over one kind of steps; how far a run is and what time it is, are none."""
    members = [member for arm in compared for member in arm.members]
    for name in members[0].run.series:
        curves = [member.run.series.get(name) for member in members]
        found = [curve for curve in curves if curve is not None and len(curve.finite) >= STAYS]
        whole = len(found) == len(members) and len({curve.axis for curve in found}) == 1
        if whole and not name.startswith(("progress.", *CLOCKS)):
            yield name
