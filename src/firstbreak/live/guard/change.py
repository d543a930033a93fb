"""A test of every value of a curve for a sudden change of its level, in constant time and memory.

The mean of the last 1, 2 or 4 values is compared with up to REFERENCE values before them, by Student's t. The k-th test of a
curve may fail with probability ALPHA / (k (k + 1)) only, and these sum to ALPHA over a run of any length: while the level of a
curve with independent, nearly Gaussian noise does not change (or, where falls are asked for, rises), it raises a false alarm
with probability ALPHA at most. A trend widens the spread of the reference, so the test holds for a run that learns.

An alarm stops nothing: it makes all detectors look at the run now.
"""

import math
from collections import deque

from firstbreak.values import dataclass

ALPHA = 0.01  #: largest probability of a false alarm of one curve, over the whole run
WINDOWS = (4, 2, 1)  #: numbers of last values that are compared with those before; the largest first
REFERENCE = 32  #: values before them, at most
LEAST = 8  #: values before them, at least
NEEDED = 5.0  #: times the noise; smaller changes are no sudden ones, and noise that lasts for some steps makes them too
RESOLUTION = 0.02  #: of the level: a curve that stands still has no noise of its own


@dataclass(frozen=True)
class LevelChange:
    """The level of a curve has changed."""

    before: float  #: mean of the reference
    now: float  #: mean of the last values
    noise: float  #: standard deviation of the reference
    last: int  #: number of the last values


class ChangeTest:
    """The test of one curve. `both`: rises are asked for as well as falls."""

    __slots__ = ("_before", "_both", "_last", "_moves", "_offset", "_squares", "_sum", "_tests")

    def __init__(self, *, both: bool = False) -> None:
        self._both = both
        self._tests = 0
        self._restart([])

    def add(self, value: float) -> LevelChange | None:
        """Take in one value. Returns the change that it shows. A value that is not finite is left out."""
        if not math.isfinite(value):
            return None
        self._last.append(value)
        if len(self._last) > WINDOWS[0]:
            self._move(self._last.popleft())
        if len(self._before) < LEAST:
            return None
        self._tests += 1
        change = self._changed()
        if change is not None:  # from here on, the new level is what later values are compared with
            self._restart(list(self._last)[-change.last :])
        return change

    def _restart(self, values: list[float]) -> None:
        self._last: deque[float] = deque(values)
        self._before: deque[float] = deque()
        self._offset = self._sum = self._squares = 0.0
        self._moves = 0

    def _move(self, value: float) -> None:
        """A value becomes part of the reference. Its sums are about an offset, and made anew before rounding can grow."""
        self._before.append(value)
        self._moves += 1
        if self._moves < LEAST or self._moves % REFERENCE == 0:
            self._offset = sum(self._before) / len(self._before)
            apart = [x - self._offset for x in self._before]
            self._sum, self._squares = sum(apart), sum(x * x for x in apart)
        else:
            self._count(value, 1)
        if len(self._before) > REFERENCE:
            self._count(self._before.popleft(), -1)

    def _count(self, value: float, sign: int) -> None:
        apart = value - self._offset
        self._sum += sign * apart
        self._squares += sign * apart * apart

    def _changed(self) -> LevelChange | None:
        n, total, squares = len(self._before), self._sum, self._squares
        last = [x - self._offset for x in self._last]
        found = None
        for window in WINDOWS:
            while len(last) > window:
                x = last.pop(0)
                n, total, squares = n + 1, total + x, squares + x * x
            mean, now = total / n, sum(last) / window
            noise = math.sqrt(max(0.0, squares - total * mean) / (n - 1))
            noise = max(noise, RESOLUTION * abs(mean + self._offset))
            apart = abs(now - mean) if self._both else mean - now
            if noise > 0 and apart > NEEDED * noise:
                t = apart / (noise * math.sqrt(1 / window + 1 / n))
                allowed = ALPHA / (len(WINDOWS) * (1 + self._both) * self._tests * (self._tests + 1))
                if log_tail(t, n - 1) < math.log(allowed):
                    # the smallest is the sharpest
                    found = LevelChange(mean + self._offset, now + self._offset, noise, window)
        return found


def log_tail(t: float, freedom: int) -> float:
    """An upper bound for the log probability that Student's t with `freedom` degrees of freedom is above `t` > 0.

    Half of the incomplete beta function I_y(a, 1/2) with a = freedom / 2 and y = freedom / (freedom + t^2), of which the
    hypergeometric factor is at most (1 - y)^(-1/2).
    """
    a, y = freedom / 2, freedom / (freedom + t * t)
    beta = math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    return a * math.log(y) - math.log(2 * a) - beta - 0.5 * math.log1p(-y)
