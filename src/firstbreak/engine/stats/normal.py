"""Tail probabilities of the normal and Student's t, both ways, without scipy."""

import math

import numpy as np


def two_sided(z: float) -> float:
    """P(|Z| > |z|) of a standard normal."""
    return math.erfc(abs(z) / math.sqrt(2))


def above(z: float) -> float:
    """P(Z > z) of a standard normal."""
    return math.erfc(z / math.sqrt(2)) / 2


def quantile(p: float) -> float:
    """The standard normal's quantile, 0 < p < 1: a start that is right to 0.0005, and Halley's steps from there."""
    if p > 0.5:
        return -quantile(1 - p)
    t = math.sqrt(-2 * math.log(p))
    z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(2):  # Abramowitz and Stegun, 26.2.23
        off = (1 - p / above(-z)) * above(-z) * math.sqrt(2 * math.pi) * math.exp(z * z / 2)
        z -= off / (1 + z * off / 2)
    return z


def t_to_z(t: float, df: float) -> float:
    """The z with (nearly) the same tail as a Student t of `df` degrees of freedom (Wallace 1959; within 0.02 of z)."""
    if math.isinf(t):
        return t
    return math.copysign(math.sqrt(df * math.log1p(t * t / df)) * (8 * df + 1) / (8 * df + 3), t)


def z_to_t(z: float, df: float) -> float:
    """Inverse of `t_to_z`: the Student t that is as unlikely as z."""
    ratio = z * (8 * df + 3) / (8 * df + 1)
    return math.copysign(math.sqrt(df * math.expm1(ratio * ratio / df)), z)


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of the mid-ranks, (n,)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(np.array([quantile((r - 0.5) / len(values)) for r in rank])[inverse])
