"""Tests by ranks and by means: how large an effect is in a row of numbers, and how probable it would be by chance."""

import math

import numpy as np

from firstbreak.engine.stats.normal import t_to_z, two_sided
from firstbreak.engine.stats.points import median
from firstbreak.model import Series

FIRST_TEST = 8  #: points at the first test; each further test comes at twice as many (convention)
EACH_SIDE = 3  #: points before and after a jump (convention)


def trend(values: np.ndarray) -> tuple[float, float]:
    """How far the median of the second half is above that of the first, and the p value of Mann and Whitney's test.

    This test is as good as a trend test where a curve rises, and better where the curve jumps.
    """
    first, second = np.array_split(values, 2)
    n, m = len(first), len(second)
    wins = float((np.sign(second[:, None] - first[None, :]) / 2 + 0.5).sum())
    step = 0.5 if n + m < FIRST_TEST else 0.0  # of so few points the ranks are far from Gaussian
    z = (wins - n * m / 2 - step) / math.sqrt(n * m * (n + m + 1) / 12)
    return float(median(second) - median(first)), two_sided(z) / 2 if z > 0 else 1 - two_sided(z) / 2


def jump(values: np.ndarray) -> tuple[float, float]:
    """The clearest jump up, and its p value: Student's t test, times the number of possible places (Bonferroni)."""
    n = len(values)
    places = range(EACH_SIDE, n - EACH_SIDE + 1)
    steps = [(values[k:].mean() - values[:k].mean(), _step_t(values, k)) for k in places]
    if not steps:
        return 0.0, 1.0
    effect, t = max(steps, key=lambda step: step[1])
    z = t_to_z(t, n - 2) if math.isfinite(t) else math.copysign(math.inf, t)
    p = two_sided(z) / 2 if z > 0 else 1.0
    return float(effect), min(1.0, p * len(steps))


def _step_t(values: np.ndarray, k: int) -> float:
    """Student's t of a jump before the k-th value; infinite where the values do not vary otherwise."""
    before, after = values[:k], values[k:]
    rest = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    step = after.mean() - before.mean()
    error = math.sqrt(rest / (len(values) - 2) * (1 / len(before) + 1 / len(after)))
    return float(step / error) if error > 0 else math.copysign(math.inf, step) if step else 0.0


def shift(values: np.ndarray) -> tuple[float, float]:
    """The median, and the p value of Wilcoxon's signed-rank test that it is 0."""
    n = len(values)
    ranks = np.empty(n)
    ranks[np.argsort(np.abs(values), kind="stable")] = np.arange(1, n + 1)
    z = (float(ranks[values > 0].sum()) - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return median(values), two_sided(z) / 2 if z > 0 else 1 - two_sided(z) / 2


def noise(curve: Series) -> float:
    """Standard deviation of single points, from the differences of neighbours, so that a trend adds nothing."""
    return float(np.sqrt((np.diff(curve.values) ** 2).mean() / 2))


def size(curve: Series) -> float:
    return float(np.abs(curve.values).max()) if len(curve) else 0.0
