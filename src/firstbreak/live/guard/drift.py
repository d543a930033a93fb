"""A test of a curve for a slow change, over tens of steps, which no single step shows: `change.py` asks of sudden ones.

The mean of the last 4, 8 or 16 values is compared with 32 values before them, and with the 32 before those, by Student's t. As in
`change.py`, the errors of all tests of a curve sum to ALPHA while its values are independent. What grows or sinks by its nature
counts from a size on, in the logarithm, and only beside a score that does not explain it.
"""

import math
from itertools import accumulate
from statistics import fmean as mean
from statistics import variance
from typing import NamedTuple

from firstbreak.live.guard.change import ALPHA, RESOLUTION, log_tail

WINDOWS = (4, 8, 16)  #: numbers of last values
REFERENCE = 32  #: values before them
LEAST = 24  #: of these, where a run is young
SPAN = WINDOWS[-1] + 2 * REFERENCE  #: values that a test looks at
TESTS = 2 * len(WINDOWS)  #: of one value
LATELY = 8  #: values that tell what the score does now
CLEARLY = 3.0  #: t of a score that rises or falls


class Drift(NamedTuple):
    """What a slow change of one signal is."""

    name: str  #: of the rule
    sign: int  #: 1: it grows, -1: it falls
    times: float = 0.0  #: smallest growth; 0: it is measured by its noise
    level: float = 0.0  #: below this size it is of no matter
    score: str = ""  #: "not rising", or "falling": what the score must do beside it


NEEDED = 2.5  #: times the noise, where no growth is given
FALL = Drift("level-score", -1)
NORM = Drift("level-gradient", 1, times=2.5, score="not rising")
STEP = Drift("level-divergence", 1, times=5.0, level=0.1)
DISTANCE = STEP._replace(name="level-distance")
DRIFTS = {
    **dict.fromkeys(("reward.mean", "reward.shaped.mean", "reward.episode", "success_rate"), FALL),
    **dict.fromkeys(("grad.norm", "value.grad_norm"), NORM),
    **dict.fromkeys(("kl.old", "kl.old.k1", "kl.old.k2", "kl.old.k3"), STEP),
    **dict.fromkeys(("kl.ref", "kl.ref.k1", "kl.ref.k2", "kl.ref.k3"), DISTANCE),
    "value.loss": Drift("level-value-loss", 1, times=4.0, score="not rising"),
    "policy.entropy": Drift("level-entropy", -1, times=2.0, score="falling"),
    "length.mean": Drift("level-length", 1, times=1.8),
}


class Drifted(NamedTuple):
    """A curve has drifted."""

    before: float
    now: float
    noise: float  #: standard deviation before, of the logarithm where growth counts
    steps: int  #: values between the middles of both


class DriftTest:
    """The test of one curve."""

    __slots__ = ("_drift", "_offset", "_squares", "_sums", "_tests", "_values")

    def __init__(self, drift: Drift) -> None:
        self._drift = drift
        self._tests = 0
        self._keep([])

    def add(self, value: float) -> Drifted | None:
        """Take in one value. Returns the drift that it shows. A value that is not finite is left out."""
        if not math.isfinite(value):
            return None
        value = math.log(max(abs(value), 1e-12)) if self._drift.times else value
        if len(self._values) >= 2 * SPAN:
            self._keep(self._values[-SPAN:])
        self._values.append(value)
        apart = value - self._offset
        self._sums.append(self._sums[-1] + apart)
        self._squares.append(self._squares[-1] + apart * apart)
        if len(self._values) < LEAST + WINDOWS[0]:
            return None
        self._tests += 1
        return self._drifted()

    def restart(self) -> None:
        """Compare later values with the new level."""
        self._keep(self._values[-WINDOWS[0] :])

    def course(self) -> float:
        """t of the last values against those before them: above 0 where the curve rises. 0 of too few values."""
        late, early = self._values[-LATELY:], self._values[-LATELY - REFERENCE : -LATELY]
        if len(early) < LATELY:
            return 0.0
        noise = math.sqrt(variance(late) / len(late) + variance(early) / len(early))
        return (mean(late) - mean(early)) / max(noise, 1e-12)

    def _keep(self, values: list[float]) -> None:
        """Make the sums anew, about an offset, before rounding can grow."""
        self._values = values
        self._offset = values[-1] if values else 0.0
        apart = [x - self._offset for x in values]
        self._sums = [*accumulate(apart, initial=0.0)]
        self._squares = [*accumulate((x * x for x in apart), initial=0.0)]

    def _drifted(self) -> Drifted | None:
        drift, sums, squares, n = self._drift, self._sums, self._squares, len(self._values)
        needed = math.log(drift.times) if drift.times else 0.0
        for window in WINDOWS:
            now = (sums[n] - sums[n - window]) / window
            for end in (n - window, n - window - REFERENCE):
                start = max(0, end - REFERENCE)
                if (m := end - start) < LEAST:
                    break
                total = sums[end] - sums[start]
                apart = drift.sign * (now - total / m)
                if apart <= needed:
                    continue
                noise = math.sqrt(max(0.0, squares[end] - squares[start] - total * total / m) / (m - 1))
                before, after = total / m + self._offset, now + self._offset
                if not drift.times:
                    noise = max(noise, RESOLUTION * abs(before))
                    if apart <= NEEDED * noise:
                        continue
                elif math.exp(after) < drift.level:
                    continue
                t = apart / max(noise * math.sqrt(1 / window + 1 / m), 1e-12)
                if log_tail(t, m - 1) < math.log(ALPHA / (TESTS * self._tests * (self._tests + 1))):
                    size = math.exp if drift.times else float
                    return Drifted(size(before), size(after), noise, n - window // 2 - (start + end) // 2)
        return None
