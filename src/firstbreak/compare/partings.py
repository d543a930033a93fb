"""Where the curves of two arms part, link by link.

For each signal that both arms record, the difference of their means is held against two kinds of noise: that of the
curve from point to point, and that between the seeds of an arm. Curves have parted where the difference stays beyond
both. One run on each side has no seeds to compare with: that two such curves part says that the runs went different
ways, not that the settings made them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from firstbreak import signals
from firstbreak.compare.arms import Arm
from firstbreak.model import Link, Series
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.onset import first_sustained

POINTS = 60  #: places at which curves are compared; enough to say when, few enough to average noise away
BEYOND = 4.0  #: standard errors: among the some 6,000 comparisons of a report none is met by chance
STAYS = 5  #: places over which four of five must lie beyond


@dataclass(frozen=True)
class Parting:
    """A signal in which the arms part."""

    link: Link
    metric: str
    step: float  #: the first place of which the difference stays
    left: float  #: level from there on
    right: float
    size: float  #: median standard errors from there on


def partings(left: Arm, right: Arm) -> list[Parting]:
    """The first signal to part of each link, in the order of the loop. Empty where no common curve parts."""
    found = [p for name in _common([left, right]) if (p := parting(name, _curves(left, name), _curves(right, name)))]
    first: dict[Link, Parting] = {}
    for p in sorted(found, key=lambda p: (p.step, -p.size)):
        first.setdefault(p.link, p)
    return sorted(first.values(), key=lambda p: p.link.order)


def parting(name: str, left: Sequence[Series], right: Sequence[Series]) -> Parting | None:
    """Where the means of two sets of curves part, or None."""
    signal = signals.lookup(name.partition("@")[0])
    places = grid([*left, *right])
    if signal is None or signal.link is None or len(places) < STAYS:
        return None
    one, other = (np.stack([at(curve, places) for curve in curves]) for curves in (left, right))
    gap = other.mean(axis=0) - one.mean(axis=0)
    error = _error(one, other, gap)
    if error == 0:  # without any noise a difference is a difference
        error = 1e-9 * max(float(np.abs(one).max()), float(np.abs(other).max()), 1e-300)
    step = first_sustained(Series(name=name, steps=places, values=gap / error), lambda z: np.abs(z) > BEYOND, STAYS)
    if step is None:
        return None
    after = places >= step
    logged = left[0].steps
    return Parting(
        signal.link,
        name,
        float(logged[min(int(np.searchsorted(logged, step)), len(logged) - 1)]),
        float(one[:, after].mean()),
        float(other[:, after].mean()),
        float(np.median(np.abs(gap[after])) / error),
    )


def grid(curves: Sequence[Series]) -> np.ndarray:
    """Right edges of equal bins over the steps that all curves cover; each bin holds a point of every curve."""
    start, end = max(c.steps[0] for c in curves), min(c.steps[-1] for c in curves)
    inside = [int(np.sum((c.steps >= start) & (c.steps <= end))) for c in curves]
    n = min(POINTS, *inside)
    if n < 2 or start >= end:
        return np.array([])
    return np.linspace(start, end, n + 1)[1:]


def at(curve: Series, places: np.ndarray) -> np.ndarray:
    """Mean of the curve in each bin that ends at a place; interpolated where a bin is empty."""
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
    """Standard error of the difference of the means: the larger of what the seeds and what the points say.

    The spread between seeds is pooled over all places; with it three seeds a side say as much as is needed.
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


def _common(compared: Sequence[Arm]) -> Iterator[str]:
    """The signals of which every run has enough points."""
    members = [member for arm in compared for member in arm.members]
    for name in members[0].run.series:
        curves = [member.run.series.get(name) for member in members]
        if all(curve is not None and len(curve.finite) >= STAYS for curve in curves):
            yield name
