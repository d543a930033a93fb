"""What changed in a curve, when, from what to what, and did it come back? For every detector that speaks of a change.

`changes` cuts a curve at its clearest break beside every healthy shape (the engine of `breaks`: robust to heavy tails
and to correlated noise), and then looks at both parts in the same way, until neither looks broken. What has no noise is
told apart first: a curve that is exactly 0, is no number, or is no longer logged.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from firstbreak.engine.stats import breaks
from firstbreak.engine.stats.breaks import course, find_breaks
from firstbreak.engine.stats.noise import effective_size, neighbours, spread
from firstbreak.engine.stats.normal import two_sided
from firstbreak.engine.stats.onset import BLOCKS, MIN_POINTS, SOMEWHERE, p_value
from firstbreak.engine.stats.points import block_means, distinct, median, points, quantile, rescale
from firstbreak.engine.stats.smooth import median_above
from firstbreak.engine.stats.trend import theil_sen
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass, replace

Kind = Literal["level", "slope", "spread", "zero", "missing", "stopped"]
KINDS: tuple[Kind, ...] = ("level", "slope", "spread", "zero", "missing", "stopped")
LEVEL = 0.01  # of false alarms per curve
NEAR = 0.1  # of the points, 5 at least, and none beyond the next change: what a level is taken from
RETURN = 0.05  # of the points, 5 at least, and no more than between two changes: as many have to be back
UNEVEN = 0.1  # of the run by which a point may lie off its place in an evenly logged curve
AWAY = 6.0  # errors between the first and the last points of a curve that has left its first level
COURSE = 24.0  # or a course is so much likelier, in deviance: 1 to 3 % of AR(1) curves of 30 to 200 points up to 0.985
COURSE_POINTS = 2048  # a longer curve is looked at as so many means: a course is slow, and shows in them as well
OVERLAP = 0.1  # of the points of either part of a cut, that may lie on the other side of the gap between them
SUSTAINED = 0.9  # of the points: single ones go back
BURST = 6.0  # price, in deviance, of a change that is taken back: it nests the lasting one


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change that a healthy curve would hardly show. Levels are medians in which each step counts the same."""

    kind: Kind
    step: float  #: the most likely first changed point
    interval: Interval  #: where that point lies
    before: float  #: level shortly before (slope per step, sd of the noise)
    after: float  #: level shortly after (slope per step, sd of the noise); NaN: no number
    p: float  #: probability of so clear a change in a healthy curve
    returned: float | None = None  #: the first point that is back on the old side of the middle; None: it stayed

    takes_back: bool = False  #: it is the return from an earlier change

    @property
    def lasting(self) -> bool:
        """A new level, which stayed: neither an excursion nor the way back from one."""
        return self.returned is None and not self.takes_back

    @property
    def direction(self) -> int:
        """1 up (steeper, noisier), -1 down, 0 where there is no number."""
        return int(self.after > self.before) - int(self.after < self.before)

    @property
    def ratio(self) -> float:
        """After over before, in magnitude; infinite where the old level was 0."""
        return abs(self.after / self.before) if self.before else math.inf


def changes(
    curve: Series | np.ndarray,
    *,
    kinds: Sequence[Kind] = KINDS,
    log: bool = False,
    level: float = LEVEL,
    families: Sequence[str] | None = None,
    until: float | None = None,
) -> tuple[Change, ...]:
    """Every change of a curve that a healthy one shows with probability `level` at most, in order of steps.

    `log`: look for factors (in log |value|); levels are given in units of the curve all the same. `families`: the shapes
    that the healthy curve can have, where they are known. `until`: the step to which the run goes on: a curve that ends long
    before it has stopped. Stretches of exact zeros and of values that are no numbers ("zero", "missing") count in no level.
    Some 20 ms, and as much again for each change.
    """
    gone = tuple(lapses(curve, until))
    steps, values = points(curve)
    for lapse in gone:
        keep = np.ones(len(steps), bool)
        if lapse.kind == "zero":
            keep = (values != 0) | (steps < lapse.step) | (steps >= (lapse.returned or math.inf))
        steps, values = steps[keep], values[keep]
    found = _numeric(steps, values, kinds, log, level, families) if np.ptp(steps if len(steps) else [0.0]) > 0 else ()
    return tuple(sorted((c for c in (*gone, *found) if c.kind in kinds), key=lambda change: change.step))


def departed(curve: Series | np.ndarray, *, log: bool = False) -> Change | None:
    """How a curve that should not move left its first level for good, in whatever shape: what no step and no line fits, such
    as a climb that ends.

    The first and the last points are compared; the noise comes from neighbouring points, which no slow course changes. Where
    these leave open how correlated the noise is, a smooth course has to be far more likely than a level.
    """
    steps, values = points(curve)
    seen = _logarithm(values) if log else values
    n, near = len(seen), _near(len(seen))
    if n < max(MIN_POINTS, 3 * near):
        return None
    sd, rho = neighbours(seen)
    old, new = median(seen[:near]), median(seen[-near:])
    error = sd * math.sqrt(2 / effective_size(near, rho))
    if new == old:
        return None
    p = two_sided(abs(new - old) / error) if error > 0 else 0.0
    if abs(new - old) <= AWAY * error:
        gain = course(rescale(block_means(seen, COURSE_POINTS)[0])[0])
        if gain <= COURSE:
            return None
        p = math.exp(-gain / 2)
    way = (seen - old) / (new - old)
    begun, half = for_good(way > 0.1, 0.9), for_good(way > 0.5, 0.9)
    if begun is None or half is None or n - half < near:
        return None
    before, after = (math.exp(old), math.exp(new)) if log else (old, new)
    interval = (float(steps[max(begun - near, 0)]), float(steps[max(begun, half)]))
    return Change(kind="level", step=float(steps[begun]), interval=interval, before=before, after=after, p=p)


def apart(curve: Series | np.ndarray, *, log: bool = False) -> Change | None:
    """The cut of a curve in two parts that hardly overlap, with the widest gap between them; None where every cut overlaps.

    No noise model: 90 % of the points after the cut lie beyond 90 % of those before it, and the gap is wider than either part
    spreads, so that a slow course is none. Correlated noise can do that too, so this is for curves in which such a gap matters
    whatever made it: a speed, a time, a size. `p`: the probability in points that come in any order.
    """
    steps, values = points(curve)
    seen, first = block_means(_logarithm(values) if log else values, BLOCKS)
    n, near = len(seen), _near(len(seen))
    best, widest = None, 0.0
    for cut in range(near, n - near + 1):
        before, after = seen[:cut], seen[cut:]
        for sign in (1, -1):
            gap = quantile(sign * after, OVERLAP) - quantile(sign * before, 1 - OVERLAP)
            if gap > max(widest, spread(before), spread(after)):
                best, widest = cut, gap
    if best is None:
        return None
    at = best * first
    return Change(
        kind="level",
        step=float(steps[at]),
        interval=(float(steps[at - 1]), float(steps[at])),
        before=_measure("level", steps[:at], values[:at], last=True, n=len(values)),
        after=_measure("level", steps[at:], values[at:], last=False, n=len(values)),
        p=min(1.0, n / math.comb(n, near)),
    )


def for_good(hit: np.ndarray, share: float) -> int | None:
    """The index from which on, up to the end, `share` of the points hit, where there is one: the end part in which the hits
    exceed that share the most, so that what came before the first of them does not count."""
    if not len(hit):
        return None
    excess = np.cumsum((np.asarray(hit, float) - share)[::-1])[::-1]
    first = int(np.argmax(excess))
    return first if excess[first] >= -1e-9 and hit[first] else None


def turned(beyond: np.ndarray) -> int | None:
    """The index from which on, to the end, a curve lies beyond a limit (bool for each point) that it kept before.

    It kept the limit for a fifth of the run at least, and lies beyond it for a tenth, so that neither a setting nor an
    accident is one: the run itself shows what is usual.
    """
    n, first = len(beyond), for_good(beyond, SUSTAINED)
    if first is None or first < n / 5 or n - first < max(n / 10, MIN_POINTS):
        return None
    return first if float(np.mean(beyond[: max(n // 5, 1)])) <= 1 - SUSTAINED else None


def rounded_away(values: np.ndarray) -> bool:
    """Whether 0 is what a fixed number of decimals leaves of a decay: 4e-8, 3e-8, 2e-8, 1e-8, and then 0.00000000."""
    levels = distinct(values[values > 0])
    if len(levels) < 2 or (values > 0).sum() < 2 * len(levels):  # a slow decay prints each level many times
        return False
    unit = 10.0 ** np.round(np.log10(levels[0]))
    of_unit = levels / unit
    return bool(levels[-1] < 10 * unit and np.allclose(of_unit, np.round(of_unit)) and np.isclose(of_unit[0], 1))


def settled(curve: Series | np.ndarray, until: float = math.inf) -> float:
    """The level at the end of a curve, or shortly before a step; at the first point where there is none before."""
    steps, values = points(curve)
    before = steps < until
    if not before.any():
        return float(values[0]) if len(values) else math.nan
    near = _near(len(steps))
    return weighted_median(values[before][-near:], durations(steps)[before][-near:])


def settling(curve: Series, until: float = math.inf) -> Series:
    """The points that `settled` takes its level from."""
    points = curve.finite
    n = int(np.sum(points.steps < until))
    some = slice(max(0, n - _near(len(points))), n) if n else slice(0, 1)
    return replace(points, steps=points.steps[some], values=points.values[some])


def lapses(curve: Series | np.ndarray, until: float | None = None, level: float = LEVEL) -> Iterator[Change]:
    """The longest stretch of exact zeros and of values that are no numbers, where chance hardly makes it; a log that ends.

    Chance: a Markov chain whose probabilities come from the points outside of the stretch.
    """
    steps, values = (
        (curve.steps, curve.values) if isinstance(curve, Series) else (np.arange(len(curve), dtype=float), curve)
    )
    n = len(values)
    states: tuple[tuple[Kind, np.ndarray, float], ...] = (
        ("zero", values == 0, 0.0),
        ("missing", ~np.isfinite(values), math.nan),
    )
    for kind, hit, after in states:
        start, end = _longest(hit)
        p = _chance(hit, start, end)
        if end == start or p > level:
            continue
        clean = values[:start][np.isfinite(values[:start])]
        yield Change(
            kind=kind,
            step=float(steps[start]),
            interval=(float(steps[start]), float(steps[start])),
            before=median(clean[-_near(n) :]) if len(clean) else math.nan,
            after=after,
            p=p,
            returned=float(steps[end]) if end < n else None,
        )
    if until is None or n < 2:
        return
    gap = float(np.max(np.diff(steps)))
    if until - steps[-1] > max(3 * gap, NEAR * (until - steps[0])):
        last = float(steps[-1])
        yield Change(
            kind="stopped", step=last, interval=(last, last + gap), before=float(values[-1]), after=math.nan, p=0.0
        )


def _longest(hit: np.ndarray) -> tuple[int, int]:
    """The longest stretch of True: its first index, and the one after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], hit, [False]]).astype(int)))
    if not len(edges):
        return 0, 0
    longest = int(np.argmax(edges[1::2] - edges[::2]))
    return int(edges[2 * longest]), int(edges[2 * longest + 1])


def _chance(hit: np.ndarray, start: int, end: int) -> float:
    """Probability of so long a stretch somewhere in a curve that is otherwise as it is outside of it (Laplace's rule)."""
    outside = np.concatenate([hit[:start], hit[end:]])
    begins = (int(outside.sum()) + 1) / (len(outside) + 2)
    pairs = outside[:-1] & outside[1:]
    goes_on = (int(pairs.sum()) + 1) / (int(outside[:-1].sum()) + 2)
    return min(1.0, len(hit) * begins * goes_on ** (end - start - 1))


@dataclass(frozen=True, eq=False)
class _Grid:
    """A curve as the engine sees it: evenly spaced in steps, 512 values at most; `first[i]` is the first point of value i."""

    y: np.ndarray  # (k,)
    first: np.ndarray  # (k + 1,) indices, the last one n

    @property
    def smooth(self) -> tuple[int, ...]:
        """How many cosines a healthy curve may have: the means of many points show more of them."""
        return breaks.WAVES if len(self.y) == self.first[-1] else breaks.LONG_WAVES


def _grid(steps: np.ndarray, z: np.ndarray) -> _Grid:
    n = len(z)
    place = (steps - steps[0]) / (steps[-1] - steps[0])
    gaps = np.diff(steps)
    if float(np.max(np.abs(place - np.linspace(0, 1, n)))) > UNEVEN:
        cells = min(BLOCKS, int((steps[-1] - steps[0]) / max(quantile(gaps, 0.9), 1e-300)) + 1)
        if cells >= MIN_POINTS:
            cell = np.minimum((place * cells).astype(int), cells - 1)
            _, first, counts = np.unique(cell, return_index=True, return_counts=True)
            return _Grid(np.add.reduceat(z, first) / counts, np.append(first, n))
    y, width = block_means(z, BLOCKS)
    return _Grid(y, np.append(np.arange(len(y)) * width, n))


def _numeric(
    steps: np.ndarray,
    values: np.ndarray,
    kinds: Sequence[Kind],
    log: bool,
    level: float,
    families: Sequence[str] | None,
) -> tuple[Change, ...]:
    seen = _logarithm(values) if log else values
    z, _, _ = rescale(seen)
    if len(z) < MIN_POINTS or not z.any():
        return ()
    grid = _grid(steps, z)
    known = None if families is None else tuple(sorted(set(families)))
    wanted: dict[Kind, tuple[breaks.Kind, ...]] = {
        "level": ("level", "burst"),
        "slope": ("ramp",),
        "spread": ("variance",),
    }
    engine = tuple(each for kind in kinds for each in wanted.get(kind, ()))
    cuts = sorted(_cuts(grid.y, engine, level, known, grid.smooth), key=lambda cut: cut.at)
    places = [int(grid.first[cut.at]) for cut in cuts]
    edges = [0, *places, len(z)]
    window = max(5, min(round(RETURN * len(z)), int(np.min(np.diff(edges)))))
    made: list[Change] = []
    for i, (cut, at) in enumerate(zip(cuts, places, strict=True), 1):
        before, after = slice(edges[i - 1], at), slice(at, edges[i + 1])
        change = Change(
            kind=cut.kind,
            step=float(steps[at]),
            interval=(
                float(steps[min(int(grid.first[max(cut.low - 1, 0)]) + 1, at)]),
                float(steps[max(int(grid.first[min(cut.high + 1, len(grid.y))]) - 1, at)]),
            ),
            before=_measure(cut.kind, steps[before], seen[before], last=True, n=len(z)),
            after=_measure(cut.kind, steps[after], seen[after], last=False, n=len(z)),
            p=cut.p,
        )
        if change.kind == "level":
            change = replace(change, returned=_returned(change, steps[at:], seen[at:], window))
            if log:
                change = replace(change, before=math.exp(change.before), after=math.exp(change.after))
        near = slice(max(0, at - window), at + window)
        back = any(c.returned is not None and steps[near][0] <= c.returned <= steps[near][-1] for c in made)
        made.append(replace(change, takes_back=back))
    return tuple(made)


@dataclass(frozen=True)
class _Cut:
    """A place at which the curve is cut, on the grid."""

    kind: Kind
    at: int
    low: int
    high: int
    p: float


def _cuts(
    y: np.ndarray,
    kinds: tuple[breaks.Kind, ...],
    level: float,
    families: tuple[str, ...] | None,
    smooth: tuple[int, ...],
    offset: int = 0,
) -> Iterator[_Cut]:
    """The clearest break, and those of the parts that it leaves (binary segmentation: Scott & Knott 1974)."""
    z, _, _ = rescale(y)
    if len(z) < MIN_POINTS or not z.any():
        return
    tests = bool(set(kinds) & set(breaks.LASTING)) + ("burst" in kinds) + ("variance" in kinds)
    seen = [(min(1.0, tests * p_value(b)), b) for b in find_breaks(z, kinds, None, families, smooth)]
    seen = [(p, b) for p, b in seen if p <= level and b.high - b.low < SOMEWHERE * len(z)]
    if not seen:
        return
    # how much better a break explains the curve, in deviance
    p, best = max(seen, key=lambda pair: pair[1].ratio - (BURST if pair[1].kind == "burst" else 0.0))
    name: Kind = {"level": "level", "burst": "level", "ramp": "slope", "variance": "spread"}[best.kind]  # type: ignore[assignment]
    edges = [0, best.at, len(z)]
    yield _Cut(name, best.at + offset, best.low + offset, best.high + offset, p)
    if best.kind == "burst":
        edges.insert(2, best.until)
        yield _Cut(name, best.until + offset, best.back[0] + offset, best.back[1] + offset, p)
    for low, high in pairwise(edges):
        yield from _cuts(y[low:high], kinds, level, families, smooth, offset + low)


def _logarithm(values: np.ndarray) -> np.ndarray:
    """log |value|; exact zeros count as the smallest size that was seen."""
    size = np.abs(values)
    return np.log(np.maximum(size, size[size > 0].min())) if size.any() else np.zeros(len(values))


def _near(n: int) -> int:
    return max(5, round(NEAR * n))


def _measure(kind: Kind, steps: np.ndarray, values: np.ndarray, *, last: bool, n: int) -> float:
    """Level, slope per step, or sd of the noise of the side of a change."""
    if kind == "level":
        near = slice(-_near(n), None) if last else slice(_near(n))
        return weighted_median(values[near], durations(steps)[near])
    x, _ = block_means(steps, 200)
    y, _ = block_means(values, 200)
    if kind == "slope":
        return theil_sen(x, y)[0] if len(x) > 1 else 0.0
    return spread(np.diff(values)) / math.sqrt(2)


def durations(steps: np.ndarray) -> np.ndarray:
    """How many steps each point stands for (n,): those to the next one, and for the last one the usual number."""
    gaps = np.diff(steps)
    return np.append(gaps, median(gaps)) if len(gaps) and gaps.any() else np.ones(len(steps))


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The middle one of the values, where each counts `weights` times; the mean of two where it lies between them."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    half = total[-1] / 2
    low, high = np.searchsorted(total, half, "left"), np.searchsorted(total, half, "right")
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)


def _returned(change: Change, steps: np.ndarray, values: np.ndarray, width: int) -> float | None:
    """The first point of a stretch of `width` points that is back on the old side of the middle of a change."""
    if len(values) <= width:
        return None
    middle = (change.before + change.after) / 2
    side = np.sign(change.before - middle)
    back = median_above(side * values, width | 1, side * middle)
    near = np.flatnonzero(back[width // 2 :])
    return float(steps[near[0] + width // 2]) if len(near) else None


def adapted(rate: Series, turns: int = 6) -> bool:
    """Whether a learning rate goes up and down again and again: it follows the divergence, or its schedule begins anew."""
    moves = np.sign(np.diff(rate.finite.values))
    moves = moves[moves != 0]
    return int(np.sum(moves[1:] != moves[:-1])) >= turns
