"""Every break at every place beside every healthy shape: the engine of `onset`.

The curve is y = a + b g(t) + c s(t - place) + AR(1) noise, with g one of `healthy_shapes` and s a step, a ramp, or a
step that is taken back (a burst, searched over widths beside the shapes that fit best). For one shape and one AR(1)
coefficient the residual sums of squares of *all* places come from cumulated sums, so the whole family is searched
exactly, in O(shapes x n). The winners are then compared by a likelihood with Student-t innovations and an AR(1)
coefficient of its own for the curve with and without the break: otherwise a wild point, or the drift of correlated
noise, passes for a break.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from firstbreak.engine.stats.memo import kept
from firstbreak.engine.stats.noise import likely_ar1, quasi_difference, spread, student_deviance
from firstbreak.engine.stats.normal import normal_scores
from firstbreak.engine.stats.smooth import healthy_shapes
from firstbreak.values import dataclass, replace

Kind = Literal["level", "ramp", "variance", "burst"]
MEAN: tuple[Kind, ...] = ("level", "ramp", "burst")
LASTING: tuple[Kind, ...] = ("level", "ramp")
WIDTHS = 1.5  # each width of a burst that is tried is so many times the one before
BESIDE = 24  # healthy shapes beside which bursts are searched
EDGE = 3  # points that a break needs on either side
OUTLIER = 3.5  # sd beyond which a residual is pulled in
COEFFICIENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.96, 0.985)  # of AR(1), the grid
_RHOS = np.array(COEFFICIENTS)[:, None]
CALMING = ("constant", "exponential", "linear", "power")  # how the noise of a healthy run changes
SECOND_SHAPE = 3.0  # price, in deviance, of a healthy curve made of two shapes
WAVES, WAVE = (3, 6), 2.0  # how many cosines a smooth healthy curve has, and the price of each
LONG_WAVES = (3, 6, 12)  # the same of a curve of thousands of points, which shows every bend


@dataclass(frozen=True, kw_only=True)
class Break:
    """The best break of one kind, significant or not. Places are indices."""

    kind: Kind
    at: int  #: first changed point
    low: int  #: the first and the last place that the likelihood allows
    high: int
    size: float  #: signed, in noise sd: of the level (at the end, for a ramp); for variance log2 of the ratio of the sd
    before: float  #: fitted level (or sd) just before
    after: float  #: fitted level right after, at the end for a ramp (or sd afterwards)
    ratio: float  #: twice the log likelihood ratio against the best healthy curve
    rho: float  #: AR(1) coefficient of the noise
    until: int  #: a burst's first point that is back, else n
    back: tuple[int, int]  #: the first and the last place that the likelihood allows for it


@kept
def find_breaks(
    y: np.ndarray,
    kinds: tuple[Kind, ...],
    direction: int | None = None,
    families: tuple[str, ...] | None = None,
    smooth: tuple[int, ...] = WAVES,
) -> tuple[Break, ...]:
    """The best break of each kind in y (n,), n > 2 EDGE. A kind with no break in that direction is left out.

    `families`: the only shapes that the healthy curve can have; None: any, smooth ones that belong to no family included
    (`smooth`: of so many cosines).
    """
    rough, calm, rho = _without_outliers(y, families)
    found = []
    if mean := [kind for kind in kinds if kind in MEAN]:
        healthy, healthy_rho = _healthy(y, calm, families, smooth)
        tried = [c for r in {rho, healthy_rho} for c in _candidates(calm, families, r, mean, direction)]
        for kind in mean:
            deviance, best = min(((c.deviance(y), c) for c in tried if c.kind == kind), key=lambda pair: pair[0])
            if best.size != 0:
                found.append(_mean_break(best, y, healthy - deviance))
    if "variance" in kinds and (change := _variance_break(y - rough, rough, rho, direction)):
        found.append(change)
    return tuple(found)


@kept
def _without_outliers(y: np.ndarray, families: tuple[str, ...] | None) -> tuple[np.ndarray, np.ndarray, float]:
    """The best fit of a shape and a break, y with its outliers pulled in to it, and the AR(1) coefficient of its noise."""
    rough = min(_candidates(y, families, 0.0, LASTING, None), key=lambda c: c.rss).fitted
    limit = OUTLIER * spread(y - rough)
    calm = rough + np.clip(y - rough, -limit, limit)
    rho = likely_ar1(calm - rough)
    return rough, calm, min(COEFFICIENTS, key=lambda c: abs(c - rho))  # whitened shapes are kept for these


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The best shape and place of one kind of break at one AR(1) coefficient."""

    kind: Kind
    at: int
    size: float  # coefficient of the break
    fitted: np.ndarray  # (n,)
    rho: float
    rss: float  # whitened
    profile: np.ndarray  # (n,) log likelihood of each place under Gaussian noise, 0 at the best
    until: int  # a burst's first point that is back, else n
    ends: np.ndarray  # (n,) the same of that point

    def deviance(self, y: np.ndarray) -> float:
        residual = y - self.fitted
        return min(student_deviance(residual, rho) for rho in (self.rho, likely_ar1(residual)))


def _mean_break(best: _Candidate, y: np.ndarray, ratio: float) -> Break:
    n = len(y)
    low, high = likely_places(best.profile)
    noise = max(spread(y - best.fitted), 1e-9)
    reach = best.size * (n - best.at) / n if best.kind == "ramp" else best.size
    return Break(
        kind=best.kind,
        at=best.at,
        low=low,
        high=high,
        size=reach / noise,
        before=float(best.fitted[best.at - 1]),
        after=float(best.fitted[-1 if best.kind == "ramp" else best.at]),
        ratio=ratio,
        rho=best.rho,
        until=best.until,
        back=likely_places(best.ends) if best.kind == "burst" else (n, n),
    )


@kept
def _healthy(
    y: np.ndarray, calm: np.ndarray, families: tuple[str, ...] | None, smooth: tuple[int, ...]
) -> tuple[float, float]:
    """Least deviance of y under any healthy curve, and its AR(1) coefficient. Curves are fitted to `calm`.

    Healthy is one shape or, at a price, the sum of two (which also fills the gaps of the grid); where nothing is known of
    the shape also, at a price, any smooth curve (the first cosines).
    """
    n, each = len(y), np.arange(len(COEFFICIENTS))
    basis = healthy_shapes(n, families).basis
    one, norm = _norms(n, families)
    level = _products(np.ones((1, n)), calm) / _length(n)
    along = _ratio(_products(basis, calm) - one * level, norm)
    first = np.argmax(along**2, axis=1)
    beside = {i: _products(basis, basis[i]) for i in set(first)}
    overlap = np.array([beside[i][k] for k, i in enumerate(first)]) - one * one[each, first][:, None]
    overlap = _ratio(overlap, norm * norm[each, first][:, None])
    free = 1 - overlap**2  # squared norm of what the first shape cannot imitate
    more = _ratio((along - overlap * along[each, first][:, None]) ** 2, np.where(free > 1e-3, free, 0.0))
    second = np.argmax(more, axis=1)
    power = _products(calm[None], calm)[:, 0]
    rest = power - level[:, 0] ** 2 - along[each, first] ** 2
    tried = [
        (0.0, rest, basis[first][:, None]),
        (SECOND_SHAPE, rest - more[each, second], basis[np.stack([first, second], axis=1)]),
    ]
    for count in [count for count in smooth if families is None and count + 1 < n]:  # fewer waves than points
        rows = np.vstack([np.ones(n), waves(n, count)])
        along = np.stack([_products(rows, calm)], axis=-1)
        gram = np.stack([_products(rows, row) for row in rows], axis=-1)
        explained = np.sum(along * np.linalg.solve(gram, along), axis=(1, 2))
        tried.append((WAVE * count, power - explained, np.broadcast_to(rows[1:], (len(each), count, n))))
    best = (math.inf, 0.0)
    for price, rss, columns in tried:
        k = int(np.argmin(n * np.log(np.maximum(rss, 1e-24)) - np.log(1 - _RHOS[:, 0] ** 2)))
        fitted = _fit(np.vstack([np.ones(n), columns[k]]).T, calm, COEFFICIENTS[k])
        best = min(best, (student_deviance(y - fitted, COEFFICIENTS[k]) + price, COEFFICIENTS[k]))
    return best


def _products(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Inner products (coefficients, k) of rows (k, n) with y (n,), both whitened with each of COEFFICIENTS."""
    return _of_lags(rows @ y, rows[:, 1:] @ y[:-1] + rows[:, :-1] @ y[1:], rows[:, 1:-1] @ y[1:-1])


def _of_lags(same: np.ndarray, neighbours: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Products of whitened rows, from those of the rows themselves, at lag 1 either way, and without the first and last point."""
    return np.asarray(same - _RHOS * neighbours + _RHOS**2 * inner)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is hardly more."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 1e-9))


@lru_cache(maxsize=16)
def _length(n: int) -> np.ndarray:
    """Norm (coefficients, 1) of the whitened constant."""
    return np.asarray(np.sqrt(_products(np.ones((1, n)), np.ones(n))))


@lru_cache(maxsize=16)
def _norms(n: int, families: tuple[str, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Products (coefficients, k) of the whitened shapes with the constant of norm 1, and the norms of what is left of them."""
    basis = healthy_shapes(n, families).basis
    one = _products(basis, np.ones(n)) / _length(n)
    inner = np.sum(basis[:, 1:-1] ** 2, axis=1)
    whole = _of_lags(np.sum(basis**2, axis=1), 2 * np.sum(basis[:, 1:] * basis[:, :-1], axis=1), inner)
    return one, np.sqrt(np.maximum(whole - one**2, 0.0))


def course(y: np.ndarray) -> float:
    """By how much (in deviance) a smooth course explains y (n,) better than one level with noise that is correlated."""
    level = _healthy(y, y, ("constant",), ())[0]
    return level - _healthy(y, y, ("linear", "cosine", "exponential", "power", "logistic"), ())[0]


def waves(n: int, k: int) -> np.ndarray:
    """The first k cosines (k, n): with a constant, any curve that turns less than k times."""
    return np.cos(np.pi * np.outer(np.arange(1, k + 1), np.arange(n) + 0.5) / n)


@lru_cache(maxsize=8)
def _whitened_shapes(n: int, families: tuple[str, ...] | None, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Whitened constant (n,) and shapes (k, n), of norm 1 and the shapes orthogonal to the constant."""
    one = quasi_difference(np.ones(n), rho)
    one /= np.linalg.norm(one)
    g = quasi_difference(healthy_shapes(n, families).basis.T, rho).T
    g = g - np.outer(g @ one, one)
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return one, np.divide(g, norm, out=np.zeros_like(g), where=norm > 1e-9)


@lru_cache(maxsize=12)
def _beside_breaks(n: int, families: tuple[str, ...] | None, rho: float, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Products (k, n) of the whitened shapes with the whitened break at every place, and one over the squared norm of what no
    shape can imitate of it; 0 where that is too little, and at the edges."""
    one, g = _whitened_shapes(n, families, rho)
    dot, power = _against_breaks(np.vstack([one, g]), rho, kind)
    free = np.square(dot[1:])
    np.subtract(power - dot[0] ** 2, free, out=free)
    inverse = np.divide(1.0, free, out=np.zeros_like(free), where=free > 1e-3 * power)
    inverse[:, :EDGE] = inverse[:, n - EDGE + 1 :] = 0.0
    return dot[1:], inverse


def _candidates(
    y: np.ndarray, families: tuple[str, ...] | None, rho: float, kinds: Sequence[Kind], direction: int | None
) -> Iterator[_Candidate]:
    """The best break of each kind at one AR(1) coefficient."""
    n = len(y)
    basis = healthy_shapes(n, families).basis
    one, g = _whitened_shapes(n, families, rho)
    r = quasi_difference(y, rho)
    r = r - (r @ one) * one
    along = g @ r
    healthy = np.maximum(r @ r - along**2, 1e-24)
    for kind in kinds:
        if kind == "burst":
            order = np.argsort(-(along**2), kind="stable")[:BESIDE]
            yield _burst(y, r, one, g[order], basis[order], rho, direction)
            continue
        shapes, inverse = _beside_breaks(n, families, rho, kind)
        numerator = along[:, None] * shapes
        np.subtract(_against_breaks(r[None], rho, kind)[0], numerator, out=numerator)
        size = numerator * inverse
        if direction is not None:
            (np.maximum if direction > 0 else np.minimum)(size, 0.0, out=size)
        numerator *= size
        rss = np.subtract(healthy[:, None], numerator, out=numerator)
        lowest = np.maximum(rss.min(axis=0), 1e-24)
        least = float(lowest.min())
        equal = np.flatnonzero(lowest == least)
        shape, first = divmod(int(np.argmin(np.maximum(rss[:, equal], 1e-24))), len(equal))
        at = int(equal[first])
        columns = [np.ones(n), basis[shape], unit_break(n, at, kind)]
        fitted = _fit(np.column_stack(columns if size[shape, at] else columns[:2]), y, rho)
        profile = -n / 2 * np.log(lowest / least)
        yield _Candidate(kind, at, float(size[shape, at]), fitted, rho, least, profile, n, profile)


def _sizes(
    dot: np.ndarray, power: np.ndarray, along: np.ndarray, direction: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficient of the break beside each shape at each place (k, n), and by how much it lowers the sum of squares.

    `dot` (2 + k, n): the break's products with the residual, the constant and the shapes; `power` (n,): its squared norm.
    """
    free = power - dot[1] ** 2 - dot[2:] ** 2  # squared norm of what no shape can imitate
    numerator = dot[0] - along[:, None] * dot[2:]
    size = np.divide(numerator, free, out=np.zeros_like(free), where=free > 1e-3 * power)
    if direction is not None:
        size[np.sign(size) != direction] = 0.0
    return size, size * numerator


def _burst(
    y: np.ndarray, r: np.ndarray, one: np.ndarray, g: np.ndarray, basis: np.ndarray, rho: float, direction: int | None
) -> _Candidate:
    """The best burst: of widths `WIDTHS` apart first, then with its ends moved to where they fit best."""
    n = len(y)
    along = g @ r
    healthy = np.maximum(r @ r - along**2, 1e-24)
    step, _ = _against_breaks(np.vstack([r, one, g]), rho, "level")

    def power(width: np.ndarray) -> np.ndarray:  # whitened: 1, then 1 - rho, then -rho where it is over
        return 1 + (1 - rho) ** 2 * (width - 1) + rho**2

    best = (math.inf, 0, EDGE, EDGE + 1)
    width = float(EDGE)
    while (w := round(width)) <= n // 2 and w < n - 2 * EDGE:
        starts = slice(EDGE, n - EDGE - w + 1)
        dot = step[:, starts] - step[:, w + EDGE : n - EDGE + 1]
        _, gain = _sizes(dot, power(np.full(dot.shape[1], w)), along, direction)
        rss = healthy[:, None] - gain
        shape, at = (int(i) for i in np.unravel_index(np.argmin(rss), rss.shape))
        best = min(best, (float(rss[shape, at]), shape, at + EDGE, at + EDGE + w))
        width *= WIDTHS
    _, shape, at, until = best
    step, tilt = step[[0, 1, 2 + shape]], along[[shape]]
    places = np.arange(n)
    for _ in range(2):
        ends = np.full(n, healthy[shape])
        later = places[at + EDGE : n - EDGE + 1]
        if len(later):
            dot = step[:, [at]] - step[:, later]
            ends[later] -= _sizes(dot, power(later - at), tilt, direction)[1][0]
            until = int(np.argmin(ends))
        begins = np.full(n, healthy[shape])
        earlier = places[EDGE : max(EDGE, until - EDGE) + 1]
        dot = step[:, earlier] - step[:, [until]]
        size, gain = _sizes(dot, power(until - earlier), tilt, direction)
        begins[earlier] -= gain[0]
        at = int(np.argmin(begins))
    found = float(size[0, at - EDGE]) if at >= EDGE else 0.0
    columns = [np.ones(n), basis[shape], unit_break(n, at, "level") - unit_break(n, until, "level")]
    fitted = _fit(np.column_stack(columns if found else columns[:2]), y, rho)
    rss = float(max(begins[at], 1e-24))
    profile, ends = (-n / 2 * np.log(np.maximum(each, 1e-24) / rss) for each in (begins, ends))
    return _Candidate("burst", at, found, fitted, rho, rss, profile, until, ends)


def _fit(design: np.ndarray, y: np.ndarray, rho: float) -> np.ndarray:
    """Generalised least squares: fitted values (n,)."""
    coefficients, *_ = np.linalg.lstsq(quasi_difference(design, rho), quasi_difference(y, rho), rcond=None)
    return np.asarray(design @ coefficients)


def unit_break(n: int, at: int, kind: Kind) -> np.ndarray:
    """A step of 1 at index `at`, or a ramp from there on that would climb by 1 over n points."""
    after = np.arange(1, n + 1) - at
    return (after > 0).astype(float) if kind == "level" else np.maximum(after, 0) / n


def _against_breaks(rows: np.ndarray, rho: float, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Inner products (rows, n) of whitened rows with the whitened break at every place, and its squared norm (n,)."""
    n = rows.shape[1]
    tail = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]
    k = np.arange(n, 0, -1.0)
    if kind == "level":  # whitened: 1 at its place, then 1 - rho
        tail *= 1 - rho
        tail += rho * rows
        return tail, (1 - rho) ** 2 * (k - 1) + 1
    sums = np.cumsum(tail[:, ::-1], axis=1)[:, ::-1]  # whitened: j (1 - rho) + rho at its j-th point, over n
    power = (1 - rho) ** 2 * k * (k + 1) * (2 * k + 1) / 6 + rho * (1 - rho) * k * (k + 1) + rho**2 * k
    sums *= 1 - rho
    tail *= rho
    sums += tail
    sums /= n
    return sums, power / n**2


def _variance_break(residual: np.ndarray, fitted: np.ndarray, rho: float, direction: int | None) -> Break | None:
    """A sudden change of the size of the innovations: a level shift in the normal scores of their ranks.

    Ranks make it blind to the tails of the noise (van der Waerden scores; Mood 1954 tests scale by ranks). The noise of a
    healthy run changes too: with the level of the curve, which is taken off, and slowly, along `CALMING` shapes.
    """
    innovations = quasi_difference(residual, rho)
    score = normal_scores(np.abs(innovations))
    level = fitted - fitted.mean()
    score = score - level * (level @ score) / max(float(level @ level), 1e-24)
    for shift in find_breaks(score, ("level",), direction, CALMING):
        before, after = (spread(part) / math.sqrt(1 - rho**2) for part in np.split(innovations, [shift.at]))
        if min(before, after) > 1e-12 and (after > before) == (shift.size > 0):
            return replace(shift, kind="variance", size=math.log2(after / before), before=before, after=after)
    return None


def likely_places(profile: np.ndarray, mass: float = 0.95) -> tuple[int, int]:
    """Hull of the most likely places that together hold `mass` of the likelihood exp(profile): first and last index."""
    weight = np.exp(profile - profile.max())
    order = np.argsort(-weight, kind="stable")
    kept = order[: int(np.searchsorted(np.cumsum(weight[order]), mass * weight.sum())) + 1]
    return int(kept.min()), int(kept.max())
