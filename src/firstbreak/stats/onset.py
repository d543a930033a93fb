"""Did something change, when, and how?

A break is looked for *beside* the healthy shape, not after it: for every shape of `smooth.healthy_shapes` and every place
of a level shift or a ramp, the best fit of both together is compared with the best healthy fit alone (a generalised
likelihood ratio, under AR(1) noise). Fitting the shape first and testing its residual afterwards loses the breaks that
the shape has already swallowed. A change of variance is looked for in the ranks of the squared residual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.stats.noise import autocorrelation, quasi_difference, spread
from firstbreak.stats.normal import quantile
from firstbreak.stats.points import block_means, points, rescale
from firstbreak.stats.smooth import healthy_shapes

Kind = Literal["level", "ramp", "variance"]
KINDS: tuple[Kind, ...] = ("level", "ramp", "variance")
MIN_POINTS = 12
BLOCKS = 512
EDGE = 3  # points that a break needs on either side
OUTLIER = 3.5  # sd beyond which a residual is pulled in
THRESHOLD = {"mean": 35.0, "variance": 14.0}
SCALE = {"mean": 6.0, "variance": 2.0}


@dataclass(frozen=True, kw_only=True)
class Onset:
    """A change of behaviour: the last healthy point lies before `step`."""

    step: float  #: the most likely first changed point
    interval: Interval  #: 90 % of the likelihood lies within
    kind: Kind
    direction: int  #: 1 up (or noisier), -1 down (or calmer)
    size: float  #: in noise sd: of the level, at the end for a ramp; for variance the log2 of the ratio of the sd
    before: float  #: level (or sd, for variance) just before
    after: float  #: level (or sd) afterwards: at the end, for a ramp
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
) -> Onset | None:
    """The clearest break of a curve, or None where a healthy curve would look as broken with probability > `level`."""
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    if len(z) < MIN_POINTS or not z.any() or steps[0] == steps[-1]:
        return None
    y, first = block_means(z, BLOCKS)
    found = [b for b in _breaks(y, direction, kinds) if b.p <= level]
    if not found:
        return None
    best = min(found, key=lambda b: (b.p, -b.ratio))
    last = np.append(first[1:] - 1, len(z) - 1)
    shift = 0.0 if best.kind == "variance" else centre
    return Onset(
        step=float(steps[first[best.at]]),
        interval=(float(steps[first[best.low]]), float(steps[last[best.high]])),
        kind=best.kind,
        direction=1 if best.size > 0 else -1,
        size=abs(best.size),
        before=shift + scale * best.before,
        after=shift + scale * best.after,
        p=best.p,
    )


def level_shift(curve: Series | np.ndarray, direction: int | None = None, level: float = 0.05) -> Onset | None:
    """The clearest sudden change of level, or None."""
    return onset(curve, direction, ("level",), level)


def first_sustained(
    curve: Series | np.ndarray,
    predicate: Callable[[np.ndarray], np.ndarray],
    count: int = 5,
    fraction: float = 0.8,
) -> float | None:
    """The first step from which `fraction` of the next `count` points fulfil `predicate` (values -> bool), itself too."""
    steps, values = points(curve)
    count = min(count, len(values))
    if count == 0:
        return None
    hit = np.asarray(predicate(values), bool)
    share = np.convolve(hit, np.ones(count), "valid") / count
    start = np.flatnonzero(hit[: len(share)] & (share >= fraction - 1e-9))
    return float(steps[start[0]]) if len(start) else None


@dataclass(frozen=True)
class _Break:
    kind: Kind
    at: int
    low: int
    high: int
    size: float
    before: float
    after: float
    ratio: float
    p: float


def _breaks(y: np.ndarray, direction: int | None, kinds: Sequence[Kind]) -> list[_Break]:
    """The best break of each asked kind, significant or not."""
    basis = _distinct(healthy_shapes(np.linspace(0, 1, len(y))).basis)
    scan = _Scan(y, basis, 0.0)
    for _ in range(2):
        fit = scan.fit()
        residual = y - fit
        limit = OUTLIER * spread(residual)
        calm = fit + np.clip(residual, -limit, limit)
        scan = _Scan(calm, basis, max(0.0, autocorrelation(calm - fit, fitted=4)))
    found = [scan.best(kind, direction) for kind in ("level", "ramp") if kind in kinds]
    if "variance" in kinds:
        found.append(_variance_break(y - scan.fit(), scan.rho, direction))
    return [b for b in found if b is not None]


def _distinct(basis: np.ndarray) -> np.ndarray:
    """Shapes with mean 0 and norm 1; the constant stays a row of zeros."""
    g = basis - basis.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return np.asarray(np.divide(g, norm, out=np.zeros_like(g), where=norm > 0))


class _Scan:
    """Least squares of every healthy shape with and without a break at every place, in whitened coordinates.

    `gain[kind][i, t]`: what a break at t takes off the residual sum of squares of shape i; O(shapes x n), all told.
    """

    def __init__(self, y: np.ndarray, basis: np.ndarray, rho: float) -> None:
        self.y, self.rho, self.basis = y, min(rho, 0.99), basis
        n = len(y)
        one = quasi_difference(np.ones(n), self.rho)
        one /= np.linalg.norm(one)
        g = quasi_difference(basis.T, self.rho).T
        g = g - np.outer(g @ one, one)
        norm = np.linalg.norm(g, axis=1, keepdims=True)
        g = np.divide(g, norm, out=np.zeros_like(g), where=norm > 1e-9)
        r = quasi_difference(y, self.rho)
        r = r - (r @ one) * one
        along = g @ r
        self.rss = np.maximum(r @ r - along**2, 0.0)
        rows = np.vstack([one, g])
        self.gain: dict[str, np.ndarray] = {}
        self.size: dict[str, np.ndarray] = {}
        for kind in ("level", "ramp"):
            dot, power = _against_breaks(np.vstack([r, rows]), self.rho, kind)
            with_r = dot[0] - along[:, None] * dot[2:]
            free = np.maximum(power - dot[1] ** 2 - dot[2:] ** 2, 0.0)
            usable = free > 1e-3 * power
            self.size[kind] = np.divide(with_r, free, out=np.zeros_like(free), where=usable)
            gain = self.size[kind] * with_r
            gain[:, :EDGE] = gain[:, n - EDGE + 1 :] = 0.0
            self.gain[kind] = gain

    def fit(self) -> np.ndarray:
        """The best fit of any shape with any break, (n,)."""
        kind, i, t = self._place(None)
        return self._fitted(kind, i, t)

    def best(self, kind: Kind, direction: int | None) -> _Break | None:
        """The best break of one kind, with the profile of its place."""
        ratio = self._ratio(kind, direction)
        at = int(np.argmax(ratio))
        if ratio[at] <= 0:
            return None
        _, i, t = self._place(kind, direction)
        low, high = _likely(ratio)
        fitted = self._fitted(kind, i, t)
        noise = max(spread(self.y - fitted), 1e-12)
        reach = self.size[kind][i, t] * (1 if kind == "level" else (len(self.y) - t) / len(self.y))
        return _Break(
            kind,
            t,
            min(low, t),
            max(high, t),
            reach / noise,
            fitted[t - 1],
            fitted[-1],
            float(ratio[at]),
            _p("mean", float(ratio[at])),
        )

    def _ratio(self, kind: Kind, direction: int | None) -> np.ndarray:
        """Twice the log likelihood ratio of a break at each place against the best healthy shape, (n,)."""
        n = len(self.y)
        rest = (self.rss[:, None] - self._signed(kind, direction)).min(axis=0)
        scale = max(float(rest.min()), 1e-12 * float(self.rss.max())) / n
        return np.asarray((self.rss.min() - rest) / max(scale, 1e-300))

    def _signed(self, kind: Kind, direction: int | None) -> np.ndarray:
        gain = self.gain[kind]
        return gain if direction is None else np.where(np.sign(self.size[kind]) == direction, gain, 0.0)

    def _place(self, kind: Kind | None, direction: int | None = None) -> tuple[Kind, int, int]:
        best: tuple[float, Kind, int, int] | None = None
        for each in ("level", "ramp") if kind is None else (kind,):
            rest = self.rss[:, None] - self._signed(each, direction)
            i, t = np.unravel_index(int(np.argmin(rest)), rest.shape)
            if best is None or rest[i, t] < best[0]:
                best = (float(rest[i, t]), each, int(i), int(t))
        assert best is not None
        return best[1:]

    def _fitted(self, kind: Kind, i: int, t: int) -> np.ndarray:
        n = len(self.y)
        design = np.column_stack([np.ones(n), self.basis[i], _break(n, t, kind)])
        white, target = quasi_difference(design, self.rho), quasi_difference(self.y, self.rho)
        return np.asarray(design @ np.linalg.lstsq(white, target, rcond=None)[0])


def _break(n: int, t: int, kind: str) -> np.ndarray:
    """A unit step at t, or a ramp from t on that would climb by 1 over the whole curve."""
    after = np.arange(n) - t
    return (after >= 0).astype(float) if kind == "level" else np.maximum(after + 1, 0) / n


def _against_breaks(rows: np.ndarray, rho: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Inner products (rows, n) of whitened rows with the whitened break at every place, and its squared norm (n,)."""
    n = rows.shape[1]
    tail = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]
    after = np.arange(n, 0, -1)
    if kind == "level":
        dot = (1 - rho) * tail + rho * rows
        power = (1 - rho) ** 2 * (after - 1) + 1
    else:
        double = np.cumsum(tail[:, ::-1], axis=1)[:, ::-1]
        dot = ((1 - rho) * double + rho * tail) / n
        k = after.astype(float)
        climb = (1 - rho) ** 2 * k * (k + 1) * (2 * k + 1) / 6 + rho * (1 - rho) * k * (k + 1) + rho**2 * k
        power = climb / n**2
    return dot, power


def _variance_break(residual: np.ndarray, rho: float, direction: int | None) -> _Break | None:
    """A step in the size of the whitened residual beside a linear drift of it, in normal scores of its ranks."""
    white = np.abs(quasi_difference(residual, rho))
    n = len(white)
    score = _normal_scores(white)
    x = np.linspace(-1, 1, n)
    line = x / np.linalg.norm(x)
    r = score - score.mean()
    r = r - (r @ line) * line
    dot, power = _against_breaks(np.vstack([r, np.full(n, n**-0.5), line]), 0.0, "level")
    free = np.maximum(power - dot[1] ** 2 - dot[2] ** 2, 1e-12)
    size = dot[0] / free
    gain = np.where((np.sign(size) == direction) | (direction is None), size * dot[0], 0.0)
    gain[:EDGE] = gain[n - EDGE + 1 :] = 0.0
    ratio = gain / max(float((r @ r - gain.max()) / n), 1e-12)
    at = int(np.argmax(ratio))
    if ratio[at] <= 0:
        return None
    low, high = _likely(ratio)
    before, after = float(np.std(residual[:at])), float(np.std(residual[at:]))
    if min(before, after) <= 0 or (after > before) != (size[at] > 0):
        return None
    return _Break(
        "variance",
        at,
        low,
        high,
        float(np.log2(after / before)),
        before,
        after,
        float(ratio[at]),
        _p("variance", float(ratio[at])),
    )


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of the mid-ranks: the same distribution whatever the tails of the noise (van der Waerden)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    mid = np.cumsum(counts) - (counts - 1) / 2
    scores = np.array([quantile((rank - 0.5) / len(values)) for rank in mid])
    return np.asarray(scores[inverse])


def _likely(ratio: np.ndarray, mass: float = 0.95) -> tuple[int, int]:
    """The shortest hull of places that holds `mass` of the likelihood exp(ratio / 2)."""
    weight = np.exp((ratio - ratio.max()) / 2) * (ratio > 0)
    order = np.argsort(-weight)
    kept = order[: int(np.searchsorted(np.cumsum(weight[order]) / weight.sum(), mass)) + 1]
    return int(kept.min()), int(kept.max())


def _p(family: str, ratio: float) -> float:
    """Probability of such a ratio or more in a healthy curve."""
    return float(min(1.0, 0.05 * np.exp(-(ratio - THRESHOLD[family]) / SCALE[family])))
