"""Readings of a machine that take turns between two levels: the phases of a step."""

import numpy as np

from firstbreak.values import dataclass

MIN_TURN = 0.05  #: share of the readings on each level: less are single spikes (convention)
MAX_BETWEEN = 0.2  #: share of the readings that lie between the levels (convention)


@dataclass(frozen=True)
class Levels:
    """Two levels that readings take turns between."""

    low: float
    high: float

    @property
    def between(self) -> float:
        """What is below belongs to the low level."""
        return (self.low + self.high) / 2


def two_levels(values: np.ndarray) -> Levels | None:
    """The levels of finite readings (n,), by Otsu's cut; None where there is one level, or everything in between."""
    ordered = np.sort(values)
    n = len(ordered)
    if n < 2 or ordered[0] == ordered[-1]:
        return None
    below = np.arange(1, n)
    sums = np.cumsum(ordered)
    left, right = sums[:-1] / below, (sums[-1] - sums[:-1]) / (n - below)
    cut = int(np.argmax(below * (n - below) * (right - left) ** 2)) + 1
    if min(cut, n - cut) < MIN_TURN * n:
        return None
    low, high = float(np.median(ordered[:cut])), float(np.median(ordered[cut:]))
    third = (high - low) / 4
    inside = np.mean((ordered > low + third) & (ordered < high - third))
    return Levels(low, high) if inside <= MAX_BETWEEN else None
