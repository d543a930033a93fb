"""Tests that may be looked at after every point: an arm ends as soon as the answer is clear, and no look costs validity.

The interval is the confidence sequence of a Gaussian mean with unknown variance (Wang and Ramdas, "Anytime-valid t-tests
and confidence sequences for Gaussian means with unknown variance", arXiv:2310.03722, its Gaussian mixture; the idea goes back
to Robbins 1970 and Lai 1976): with probability 1 - alpha it holds the mean at all numbers of points at once.

What is averaged is one number per step: a batch mean, or the difference of two. Given the policy of its step it is a mean
over fresh samples, so its noise is close to Gaussian and independent from step to step, whatever the policy does; a trend
lies in the mean and only widens the interval. What the interval speaks of is therefore *these* runs. A claim about a
setting needs several seeds, and then one number per seed (`MIN_SEEDS`).
"""

import enum
import math

import numpy as np

from firstbreak.model import Interval
from firstbreak.values import dataclass
from firstbreak.words import number

ALPHA = 0.05
PRIOR = 1.0  #: the mixture is over effects of about 1 / sqrt(PRIOR) noise sd: those that an experiment is made for
PRIOR_SEEDS = 0.01  #: few seeds can only show effects far beyond their spread
MIN_SEEDS = 3  #: no claim that one setting is better than another is made from fewer


class Decided(enum.StrEnum):
    """How a question ended."""

    GO = "go"
    NO_GO = "no-go"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The answer, the interval that it rests on, and how many points were needed."""

    decided: Decided
    reason: str
    interval: Interval = (-math.inf, math.inf)
    n: int = 0


def confidence_sequence(
    values: np.ndarray, alpha: float = ALPHA, prior: float = PRIOR
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends, shape (n,) each, of the interval for the mean after each of the values, shape (n,).

    Infinite while too little is known. `prior` is the precision of the mixture, in units of one point.
    """
    n = np.arange(1, len(values) + 1, dtype=float)
    mean = np.cumsum(values) / n
    squares = np.maximum(np.cumsum((values - values.mean()) ** 2) - n * (mean - values.mean()) ** 2, 0.0)
    share = 1 - (alpha**2 * prior / (n + prior)) ** (1 / n)
    room = n * (n - share * (n + prior))  # not positive: every mean is still possible
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.where(room > 0, np.sqrt(share * (n + prior) * squares / room), np.inf)
    return mean - half, mean + half


def decide(values: np.ndarray, threshold: float = 0.0, alpha: float = ALPHA, prior: float = PRIOR) -> Decision:
    """Is the mean of these numbers above the threshold? GO or NO_GO at the first point at which it is clear.

    Values that are not finite are left out. A first decision is final: later points are not looked at.
    """
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return Decision(decided=Decided.CANNOT_TELL, reason=f"only {len(values)} points", n=len(values))
    low, high = confidence_sequence(values, alpha, prior)
    clear = np.flatnonzero((low > threshold) | (high < threshold))
    last = int(clear[0]) if len(clear) else len(values) - 1
    interval = (float(low[last]), float(high[last]))
    decided = Decided.CANNOT_TELL if not len(clear) else Decided.GO if low[last] > threshold else Decided.NO_GO
    return Decision(
        decided=decided, reason=_reason(decided, interval, threshold, last + 1), interval=interval, n=last + 1
    )


def _reason(decided: Decided, interval: Interval, threshold: float, n: int) -> str:
    if not math.isfinite(interval[0]):
        return f"{n} points are too few for an interval"
    place = {Decided.GO: "above", Decided.NO_GO: "below"}.get(decided, "around")
    return f"the mean lies in [{number(interval[0])}, {number(interval[1])}], {place} {number(threshold)}, after {n} points"


def claim(per_seed: np.ndarray, threshold: float = 0.0, alpha: float = ALPHA) -> Decision:
    """Is one setting better than another? `per_seed`, shape (seeds,), holds one paired difference for each seed."""
    if len(per_seed) < MIN_SEEDS:
        reason = f"{len(per_seed)} of {MIN_SEEDS} seeds: the difference of two runs is also that of two seeds"
        return Decision(decided=Decided.CANNOT_TELL, reason=reason, n=len(per_seed))
    return decide(per_seed, threshold, alpha, PRIOR_SEEDS)
