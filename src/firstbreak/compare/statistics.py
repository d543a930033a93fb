"""Is a difference between a few runs real? Aggregates with intervals that are valid for a few runs.

Scores come as one array of runs for each task: `[array(runs of task 1), array(runs of task 2), ...]`. The aggregates are
those of Agarwal et al. 2021 (arXiv:2108.13264). Their percentile bootstrap covers too little with few runs (72 to 78 % instead
of 95 % for three runs of one task), because resampling n runs shows only (n - 1) / n of the variance, and because a
spread that is estimated from few runs is uncertain. Both are corrected as in Hesterberg (2015): deviations are
stretched by sqrt(n / (n - 1)) and by Student's t over the normal quantile. `make bench-evaluation` measures the coverage.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from firstbreak.engine.stats.normal import quantile, z_to_t
from firstbreak.model import Interval
from firstbreak.values import dataclass

Scores = Sequence[np.ndarray]  #: one array of runs for each task
REPLICATIONS = 2000
CHUNK = 2**22  #: resampled scores held at a time
LARGEST = 10_000  #: largest number of runs that is proposed


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval. The interval is None where there are too few runs."""

    value: float
    interval: Interval | None


def iqm(scores: np.ndarray) -> np.ndarray:
    """Interquartile mean over the last axis: the mean of the middle half, all runs of all tasks together."""
    ordered = np.sort(scores, axis=-1)
    cut = int(0.25 * ordered.shape[-1])
    return np.asarray(ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1))


def mean(scores: Scores) -> float:
    """Mean over tasks of the mean over runs."""
    return float(np.mean([np.mean(task) for task in scores]))


def estimate(scores: Scores, statistic: Callable[[np.ndarray], np.ndarray] = iqm, seed: int = 0) -> Estimate:
    """An aggregate with its interval. `statistic` takes (replications, runs of all tasks) to (replications,)."""
    value = float(statistic(np.concatenate([*scores])))
    spread = _deviations(scores, statistic, seed)
    return Estimate(value, None if spread is None else _interval(value, spread, _freedom([scores])))


def difference(left: Scores, right: Scores, statistic: Callable[[np.ndarray], np.ndarray] = iqm) -> Estimate:
    """right - left, with the interval of Welch's test where the statistic is a mean of one task."""
    value = float(statistic(np.concatenate([*right])) - statistic(np.concatenate([*left])))
    one, other = _deviations(left, statistic, 0), _deviations(right, statistic, 1)
    if one is None or other is None:
        return Estimate(value, None)
    return Estimate(value, _interval(value, other - one, _freedom([left, right])))


def probability_of_improvement(left: Scores, right: Scores) -> Estimate:
    """P(a run of `right` scores above a run of `left` on the same task), mean over tasks, ties counting half.

    The interval is the one of Newcombe (2006, method 5) for a Mann-Whitney statistic: like Wilson's, it keeps its width
    where all runs agree, and three runs that beat three others do not prove certainty.
    """
    wins = [np.mean((b[None] > a[:, None]) + 0.5 * (b[None] == a[:, None])) for a, b in zip(left, right, strict=True)]
    value = float(np.mean(wins))
    theta = np.linspace(0, 1, 4001)
    variance = np.mean([_mann_whitney(theta, len(a), len(b)) for a, b in zip(left, right, strict=True)], axis=0)
    likely = theta[(value - theta) ** 2 <= quantile(0.975) ** 2 * variance / len(wins)]
    return Estimate(value, (float(likely[0]), float(likely[-1])) if len(likely) else (value, value))


def _mann_whitney(theta: np.ndarray, n: int, m: int) -> np.ndarray:
    """Variance of the statistic if its expectation is theta (Hanley & McNeil 1982, with Newcombe's middle sample size)."""
    more = (n + m) / 2 - 1
    odds = (1 - theta) / (2 - theta) + theta / (1 + theta)
    return np.asarray(theta * (1 - theta) * (1 + more * odds) / (n * m))


def profile(scores: Scores, thresholds: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Performance profile: share of all runs that score above each threshold, with its 95 % band: (share, low, high)."""
    flat = np.concatenate([*scores])
    share = np.mean(flat[:, None] > thresholds, axis=0)
    rng = np.random.default_rng(seed)
    copies = np.concatenate([_resample(task, 500, rng) for task in scores], axis=1)
    shares = np.stack([np.mean(copies > threshold, axis=1) for threshold in thresholds], axis=1)
    return share, np.quantile(shares, 0.025, axis=0), np.quantile(shares, 0.975, axis=0)


def runs_needed(left: Scores, right: Scores, power: float = 0.8) -> int | None:
    """How many runs each side needs on every task to show the observed difference. None beyond `LARGEST`.

    Normal theory: the least n at which Welch's test at 5 % finds it with probability `power`, if the difference and the
    spread are what they look like. Both are estimated from few runs, so the result is an order of magnitude.
    """
    size = abs(mean(right) - mean(left))
    spread = _variance(left) + _variance(right)
    if size == 0:
        return None
    for n in range(2, LARGEST + 1):
        error = math.sqrt(spread / n)
        if error == 0 or size / error - z_to_t(quantile(0.975), 2 * (n - 1) * len(left)) >= quantile(power):
            return n
    return None


def smallest_visible(left: Scores, right: Scores, power: float = 0.8) -> float:
    """The smallest true difference that this number of runs finds with probability `power` (normal theory)."""
    error = math.sqrt(sum(_variance(arm) / min(map(len, arm)) for arm in (left, right)))
    return error * (z_to_t(quantile(0.975), _freedom([left, right])) + quantile(power))


def _variance(scores: Scores) -> float:
    """The variance of one run's contribution to the mean over tasks."""
    return float(sum(np.var(task, ddof=1) if len(task) > 1 else 0.0 for task in scores)) / len(scores) ** 2


def _deviations(scores: Scores, statistic: Callable[[np.ndarray], np.ndarray], seed: int) -> np.ndarray | None:
    """Bootstrap deviations of the statistic, stratified by task and stretched to the variance of unseen runs."""
    if (
        min(map(len, scores)) < 2 or max(map(len, scores)) + len(scores) < 4
    ):  # of two runs it would be wider than all scores
        return None
    rng = np.random.default_rng(seed)
    total = sum(map(len, scores))
    step = max(1, CHUNK // total)
    stretched = [np.mean(task) + math.sqrt(len(task) / (len(task) - 1)) * (task - np.mean(task)) for task in scores]
    parts = [
        statistic(np.concatenate([_resample(task, min(step, REPLICATIONS - done), rng) for task in stretched], axis=1))
        for done in range(0, REPLICATIONS, step)
    ]
    return np.concatenate(parts) - float(statistic(np.concatenate(stretched)))


def _resample(task: np.ndarray, replications: int, rng: np.random.Generator) -> np.ndarray:
    return task[rng.integers(0, len(task), (replications, len(task)))]


def _freedom(arms: Sequence[Scores]) -> float:
    """Degrees of freedom of the spread of all strata together (Welch 1947, Satterthwaite)."""
    parts = [(np.var(task, ddof=1) / len(task), len(task) - 1) for arm in arms for task in arm if len(task) > 1]
    total = sum(variance for variance, _ in parts)
    if not parts or total == 0:
        return 1.0
    return 1 / float(sum((variance / total) ** 2 / freedom for variance, freedom in parts))


def _interval(value: float, deviations: np.ndarray, freedom: float) -> Interval:
    z = quantile(0.975)
    low, high = np.quantile(deviations, (0.025, 0.975)) * z_to_t(z, freedom) / z
    return value + float(low), value + float(high)
