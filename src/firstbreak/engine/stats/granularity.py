"""Of how many equal parts is a share made? A share of right answers to 400 problems is a multiple of 1/400."""

import numpy as np

from firstbreak.engine.stats.points import distinct

MOST = 20_000  # problems of an evaluation
BY_CHANCE = 0.01  # probability at which a denominator fits numbers that have none
FEW = 4  # different values


def problems(shares: np.ndarray) -> int | None:
    """The smallest number of problems that all these shares in 0..1 can be shares of; None where chance explains it.

    A value that was rounded to d decimals fits n problems by chance with probability 2 n 0.5e-d, so that values of four
    decimals tell some thousand problems at most. The true number may be a multiple, whose error is smaller.
    """
    values = distinct(shares[np.isfinite(shares)])
    if len(values) < FEW or values[0] < 0 or values[-1] > 1:
        return None
    rounding = _rounding(values)
    fitting = np.arange(2, MOST + 1)
    for value in values:
        right = value * fitting
        fitting = fitting[np.abs(right - np.round(right)) <= fitting * rounding + 1e-9]
        if not len(fitting):
            return None
    smallest = int(fitting[0])
    by_chance = sum(min(1.0, 2 * n * rounding) ** len(values) for n in range(2, smallest + 1))
    return None if by_chance > BY_CHANCE else smallest


def _rounding(values: np.ndarray) -> float:
    """Half a unit of the last decimal of the value that has most, at most 12; or of a number of 32 bits, as TensorBoard has."""
    decimals = max(len(f"{value:.12f}".rstrip("0").partition(".")[2]) for value in values)
    single = float(np.spacing(np.float32(values[-1]))) / 2 if np.all(values == values.astype(np.float32)) else 0.0
    return max(0.5 * 10.0**-decimals, single)


def binomial_error(shares: np.ndarray, n: int) -> np.ndarray:
    """Standard error of each share of n problems; at 0 and 1 that of one more success and failure (Agresti and Coull 1998)."""
    p = (shares * n + 1) / (n + 2)
    return np.asarray(np.sqrt(p * (1 - p) / n))
