"""What would this curve look like without its noise, or without its fault?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firstbreak.model import Series
from firstbreak.stats.points import points, rescale


def running_median(values: np.ndarray, width: int) -> np.ndarray:
    """Median of `width` (odd) neighbours; the window is cut at the ends. Removes spikes shorter than width / 2."""
    half = min(width // 2, (len(values) - 1) // 2)
    if half < 1:
        return values.copy()
    padded = np.concatenate([np.full(half, np.nan), values, np.full(half, np.nan)])
    return np.asarray(np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1))


def running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """Mean of `width` (odd) neighbours; the window is cut at the ends. O(n)."""
    half = width // 2
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, len(values))
    return np.asarray((total[high] - total[low]) / (high - low))


def smooth(curve: Series | np.ndarray, window: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Steps and smoothed values of the finite points: running median of 5, then a mean over `window` of the points."""
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    calm = running_median(z, 5) if len(z) >= 9 else z
    return steps, centre + scale * running_mean(calm, max(1, round(len(z) * window)) | 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Baseline:
    """The healthy shape that fits a curve best."""

    family: str  #: "constant", "linear", "exponential", "logistic", "power", "cosine" or "entropy"
    steps: np.ndarray  #: (n,) the finite points' steps
    values: np.ndarray  #: (n,) the fitted shape
    residuals: np.ndarray  #: (n,) curve - shape


@dataclass(frozen=True, eq=False)
class Shapes:
    """Candidate shapes a + b g(t) on n points: one row of `basis` per g, of mean 0 and norm 1 (0 for the constant)."""

    families: tuple[str, ...]  # (k,)
    parameters: np.ndarray  # (k,) a, b and those inside g
    basis: np.ndarray  # (k, n)


@lru_cache(maxsize=16)
def healthy_shapes(n: int, families: tuple[str, ...] | None = None) -> Shapes:
    """The shapes that a healthy curve of n points takes (those of `families` only), on a grid of their inner parameters.

    constant; linear and cosine (schedules); exponential (saturating learning, 1 - exp(-t / tau)); power (log t);
    logistic (a late start, no steeper than a fifth of the run from 10 % to 90 %: a step must not pass as healthy);
    entropy (the logarithm of a saturating exponential, from R = b - a exp(H), Cui et al. 2025, arXiv:2505.22617).
    """
    x = np.linspace(0, 1, n)
    logistic = [(middle, width) for width in np.geomspace(0.045, 0.2, 6) for middle in np.linspace(0, 1, 21)]
    entropy = [(floor, tau) for tau in np.geomspace(0.04, 0.4, 7) for floor in np.geomspace(1e-4, 0.1, 5)]
    rows: list[tuple[str, int, np.ndarray]] = [
        ("constant", 1, np.zeros(n)),
        ("linear", 2, x),
        ("cosine", 2, np.cos(np.pi * x)),
        *(("exponential", 3, np.exp(-x / tau)) for tau in np.geomspace(0.02, 1, 14)),
        *(("power", 3, np.log1p(x / start)) for start in np.geomspace(0.003, 0.3, 7)),
        *(("logistic", 4, 1 / (1 + np.exp((middle - x) / width))) for middle, width in logistic),
        *(("entropy", 4, np.log(floor + np.exp(-x / tau))) for floor, tau in entropy),
    ]
    if families is not None:
        rows = [row for row in rows if row[0] in families]
    g = np.array([row for _, _, row in rows])
    g -= g.mean(axis=1, keepdims=True)
    g /= np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12)
    g.flags.writeable = False
    return Shapes(tuple(family for family, _, _ in rows), np.array([k for _, k, _ in rows]), g)


def baseline(curve: Series | np.ndarray) -> Baseline:
    """The healthy shape with the best BIC, fitted robustly."""
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    n = len(z)
    if n < 4 or not z.any() or steps[0] == steps[-1]:
        level = np.full(n, float(np.median(values)) if n else 0.0)
        return Baseline(family="constant", steps=steps, values=level, residuals=values - level)
    family, fit = fit_shape(healthy_shapes(n), z)
    return Baseline(family=family, steps=steps, values=centre + scale * fit, residuals=(z - fit) * scale)


def fit_shape(shapes: Shapes, y: np.ndarray) -> tuple[str, np.ndarray]:
    """Family and fitted values (n,) of the shape with the best BIC."""
    n = len(y)
    along = shapes.basis @ y
    rss = np.maximum(float(np.sum((y - y.mean()) ** 2)) - along**2, 1e-24)
    best = int(np.argmin(n * np.log(rss / n) + shapes.parameters * np.log(n)))
    return shapes.families[best], y.mean() + along[best] * shapes.basis[best]
