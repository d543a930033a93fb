"""What would this curve look like without its noise, or without its fault?"""

from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from firstbreak.engine.stats.noise import spread
from firstbreak.engine.stats.points import points, rescale
from firstbreak.model import Series
from firstbreak.values import dataclass

MIN_POINTS = 4
BLOCKS = 512
WINDOWS_AT_ONCE = 20_000  # of a running median, so that a long curve needs little memory
FEW = 9  # points below which a spike cannot be told from a change


def running_median(values: np.ndarray, width: int) -> np.ndarray:
    """Median of `width` (odd) neighbours of finite values; the window is cut at the ends. Removes spikes shorter than width / 2.

    O(n width): for narrow windows. `median_above` says in O(n) where it lies above a level.
    """
    n = len(values)
    half = min(width // 2, (n - 1) // 2)
    if half < 1:
        return values.copy()
    size = 2 * half + 1
    found = np.empty(n)
    whole = sliding_window_view(values, size)
    for start in range(0, len(whole), WINDOWS_AT_ONCE):
        part = np.partition(whole[start : start + WINDOWS_AT_ONCE], half, axis=1)
        found[half + start : half + start + len(part)] = part[:, half]
    found[:half] = _medians_of_starts(values[: 2 * half])
    found[n - half :] = _medians_of_starts(values[::-1][: 2 * half])[::-1]
    return found


def _medians_of_starts(values: np.ndarray) -> np.ndarray:
    """Medians of the first h + 1, h + 2, ... 2 h of 2 h values: (h,)."""
    half = len(values) // 2
    counts = np.arange(half + 1, 2 * half + 1)
    windows = np.where(np.arange(2 * half) < counts[:, None], values, np.inf)
    windows.sort(axis=1)
    rows = np.arange(half)
    return np.asarray((windows[rows, (counts - 1) // 2] + windows[rows, counts // 2]) / 2)


def median_above(values: np.ndarray, width: int, level: float) -> np.ndarray:
    """Where the running median of `width` (odd) neighbours of finite values lies above a level (n,). O(n) for any width."""
    n = len(values)
    half = min(width // 2, (n - 1) // 2)
    above = values > level
    at = np.arange(n)
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, n)
    count = np.concatenate([[0], np.cumsum(above)])
    more = 2 * (count[high] - count[low]) - (high - low)
    found = np.asarray(more > 0)
    even = np.flatnonzero(more == 0)  # half of them above: only in windows that are cut, which begin or end the curve
    if len(even):
        under, over = np.where(above, -np.inf, values), np.where(above, values, np.inf)
        starts = even[even < half]
        ends = even[even >= half]
        middle = np.maximum.accumulate(under)[high[starts] - 1] + np.minimum.accumulate(over)[high[starts] - 1]
        found[starts] = middle / 2 > level
        middle = (
            np.maximum.accumulate(under[::-1])[::-1][low[ends]] + np.minimum.accumulate(over[::-1])[::-1][low[ends]]
        )
        found[ends] = middle / 2 > level
    return found


def running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """Mean of `width` (odd) neighbours; the window is cut at the ends. O(n)."""
    half = width // 2
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, len(values))
    return np.asarray((total[high] - total[low]) / (high - low))


def means_from_here(values: np.ndarray, width: int) -> np.ndarray:
    """Means of the `width` points from each one on (n - width + 1,). O(n log width).

    Equal windows have equal means, to the last bit, which a difference of cumulated sums does not keep.
    """
    n = len(values) - width + 1
    total, at = np.zeros(n), 0
    sums, size = values, 1  # of the `size` points from each one on
    while size <= width:
        if width & size:
            total += sums[at : at + n]
            at += size
        if 2 * size <= width:
            sums = sums[:-size] + sums[size:]
        size *= 2
    return total / width


def without_spikes(values: np.ndarray) -> np.ndarray:
    """Isolated points far from the median of their neighbours replaced by it (Hampel's filter); below 9 points unchanged.

    What happens in more than 2 % of the points is no spike: a rare success counts in the mean. The first two points stay,
    for a run may leave its start at once and never return.
    """
    n = len(values)
    if n < FEW:
        return values
    middle = running_median(values, 5)
    away = np.abs(values - middle)
    rank = min(n - 3, int(0.98 * n))
    frequent = np.partition(away, rank)[rank]
    limit = 4 * max(spread(values - middle), float(frequent) / 2)
    return np.where((away > limit) & (np.arange(n) > 1), middle, values)


def smooth(curve: Series | np.ndarray, window: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values of the finite points, spikes taken out, averaged over `window` of the points, at least 5."""
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    return steps, centre + scale * running_mean(without_spikes(z), max(5, round(len(z) * window)) | 1)


@dataclass(frozen=True, eq=False)
class Shapes:
    """Candidate shapes a + b g(t) on n points: one row of `basis` per g, of mean 0 and norm 1 (0 for the constant)."""

    families: tuple[str, ...]  # (k,)
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
    middle, width = np.array(logistic).T[:, :, None]
    floor, tau = np.array(entropy).T[:, :, None]
    rows = {
        "constant": np.zeros((1, n)),
        "linear": x[None],
        "cosine": np.cos(np.pi * x)[None],
        "exponential": np.exp(-x / np.geomspace(0.02, 1, 14)[:, None]),
        "power": np.log1p(x / np.geomspace(0.003, 0.3, 7)[:, None]),
        "logistic": 1 / (1 + np.exp((middle - x) / width)),
        "entropy": np.log(floor + np.exp(-x / tau)),
    }
    if families is not None:
        if unknown := set(families) - rows.keys():
            raise ValueError(f"no family of healthy shapes is called {', '.join(sorted(unknown))}")
        rows = {family: row for family, row in rows.items() if family in families}
    g = np.vstack(list(rows.values()))
    g -= g.mean(axis=1, keepdims=True)
    g /= np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12)
    g.flags.writeable = False
    return Shapes(tuple(family for family, each in rows.items() for _ in each), g)
