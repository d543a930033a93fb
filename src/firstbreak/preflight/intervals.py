"""Confidence intervals of a share, a mean and a comparison."""

import numpy as np

from firstbreak.engine.stats.proportion import wilson as wilson
from firstbreak.model import Interval

DRAWS = 2000  #: bootstrap samples: the ends of an interval vary by a few percent of its width (convention)


def resamples(n: int, seed: int = 0) -> np.ndarray:
    """Shape (DRAWS, n): indices of bootstrap samples, the same for the same n and seed."""
    return np.random.default_rng(seed).integers(0, n, size=(DRAWS, n))


def percentile(draws: np.ndarray) -> Interval:
    """The middle 95 % of bootstrap draws."""
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)


def improvement(better: np.ndarray, worse: np.ndarray) -> tuple[float, Interval]:
    """Probability that a draw of `better` exceeds one of `worse`, ties counting half, with its 95 % bootstrap interval.

    Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice".
    """
    wins = np.sign(better[:, None] - worse[None, :]) / 2 + 0.5
    rows, columns = resamples(len(better)), resamples(len(worse), seed=1)
    # Both groups are drawn anew, each by how often its members are drawn: the mean of wins under those weights.
    weights = [np.stack([np.bincount(draw, minlength=draw.size) for draw in draws]) for draws in (rows, columns)]
    draws = np.einsum("di,ij,dj->d", weights[0] / len(better), wins, weights[1] / len(worse), optimize=True)
    return float(wins.mean()), percentile(draws.clip(0, 1))
