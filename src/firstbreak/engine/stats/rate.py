"""Is the rate of improvement itself changing?"""

from typing import Literal

import numpy as np

from firstbreak.engine.stats.trend import trend
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass

MIN_POINTS = 12  #: points: six in each half of the curve, of which two lines are fitted (convention)

Course = Literal["growing", "falling", "steady", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What a curve gained in each half of its steps, along a robust line through each half, and no more than its range there."""

    early: float  #: gain of the first half, in units of the curve
    late: float  #: gain of the second half
    interval: Interval  #: of late - early, 95 %

    @property
    def course(self) -> Course:
        """Whether the rate changes. Steady: a change of more than half of the early gain is excluded."""
        low, high = self.interval
        if low > 0 or high < 0:
            return "growing" if low > 0 else "falling"
        return "steady" if max(-low, high) <= max(abs(self.early), abs(self.late)) / 2 else "unknown"


def rate(curve: Series) -> Rate | None:
    """The gain of each half of the steps and their difference; None with fewer than `MIN_POINTS` points."""
    finite = curve.finite
    if len(finite) < MIN_POINTS or finite.steps[0] == finite.steps[-1]:
        return None
    middle = (finite.steps[0] + finite.steps[-1]) / 2
    halves = finite.between(-np.inf, middle), finite.between(np.nextafter(middle, np.inf))
    if min(map(len, halves)) < MIN_POINTS // 2:
        return None
    half = float(finite.steps[-1] - finite.steps[0]) / 2
    early, late = (trend(part) for part in halves)
    error = float(np.hypot(early.interval[1] - early.slope, late.interval[1] - late.slope)) * half
    change = (late.slope - early.slope) * half
    gains = [
        float(np.clip(line.slope * half, -size, size))
        for line, size in zip((early, late), map(_range, halves), strict=True)
    ]
    return Rate(early=gains[0], late=gains[1], interval=(change - error, change + error))


def _range(curve: Series) -> float:
    return float(np.ptp(curve.values))
