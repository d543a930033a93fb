"""When the detectors look at a live run, and for how long at most.

Two rules decide when. The time that looks take stays below a share of the time that training takes (a bucket that fills
while training runs, and that each look empties by what it really cost), and the points between two looks grow with the
run, so that a million steps are looked at as often as the logarithm of a million.

A look runs in a thread that training waits for, at most so long as its patience lasts. A look that takes longer goes on
beside training, and a detector that hangs is interrupted and costs one line, like any other that fails.

What one look says is told, and what many looks say is done: see `Suspicion`.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from firstbreak.engine import registry
from firstbreak.engine.check import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Diagnosis, Finding, Run, Severity, Status

ENDS = frozenset({Action.STOP, Action.ROLLBACK})
FEWEST = 4  #: points before the first look
GROWTH = 0.05  #: of the points so far, between two looks
GROWTH_SUSPECTED = 0.02  #: the same where the last look said "stop"
CONFIRMED = 0.05  #: of the length of the run, over which every look has to say "stop" before anything is done
FEWEST_LOOKS = 3  #: and so many looks in a row, each upon new evidence
LONGER = 2.0  #: times as long as the longest such time that has passed by itself
HANGS = 30.0  #: seconds after which a look is interrupted
FIRST_COST = 0.1  #: seconds: what a look is taken to cost before one was measured


class TookTooLong(Exception):
    """Raised inside a detector that training cannot wait for any longer."""


@dataclass
class Schedule:
    """Whether a look is due. Times are in seconds."""

    share: float  #: of training time that looks may take
    credit: float = 0.0
    cost: float = FIRST_COST
    next_at: float = FEWEST  #: points

    def trained(self, seconds: float) -> None:
        """Training has run for so long."""
        self.credit += self.share * seconds

    def spent(self, seconds: float) -> None:
        """The guard has taken so long, with a look or without."""
        self.credit -= seconds

    def due(self, points: int, *, urgent: bool = False) -> bool:
        """Whether to look now; an urgent look need not wait for more points, but for its time."""
        return points >= FEWEST and (urgent or points >= self.next_at) and self.credit >= self.cost

    def looked(self, points: int, seconds: float, *, suspected: bool = False) -> None:
        """A look at so many points has taken so long: the next one is expected to, and comes sooner where it said "stop"."""
        self.cost = max(seconds, 1e-3)
        self.next_at = points + max(1.0, (GROWTH_SUSPECTED if suspected else GROWTH) * points)


class Look:
    """One look of all detectors, in a thread of its own."""

    def __init__(self, make: Callable[[], Run]) -> None:
        self.diagnosis: Diagnosis | None = None
        self.error: Exception | None = None
        self._make = make
        self._interrupt_at = time.monotonic() + HANGS
        self._thread = threading.Thread(target=self._look, name="firstbreak-look", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None) -> None:
        """Until it is done, at most so long (None: however long)."""
        self._thread.join(seconds)

    def done(self) -> bool:
        """Whether it is done. What has been running for HANGS seconds is interrupted."""
        running, now = self._thread.is_alive(), time.monotonic()
        if running and now >= self._interrupt_at and self._thread.ident is not None:
            self._interrupt_at = now + HANGS
            thread = ctypes.c_ulong(self._thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TookTooLong))
        return not running

    def _look(self) -> None:
        try:
            self.diagnosis = examine(self._make())
        except Exception as error:  # whatever it is, training goes on without it
            self.error = error


class Suspicion:
    """Whether what the looks say is to be done: a "stop" has to last.

    A verdict's error is bounded for one look at a whole run. A live run is looked at dozens of times, and healthy ones dip
    and recover. So nothing is done unless every look has said "stop" over CONFIRMED of the run's length, FEWEST_LOOKS of
    them upon new evidence (between two evaluations a look sees nothing new of a score); and a run that has recovered by
    itself before has to stay down LONGER than it took then.
    """

    def __init__(self) -> None:
        self._looks = 0  #: in a row that said "stop", each upon new evidence
        self._evidence = 0  #: values behind the last of them
        self._since = 0  #: points at the first of them
        self._recovery = 0  #: points that the longest suspicion has lasted that passed by itself

    def on(self, diagnosis: Diagnosis, points: int) -> bool:
        """One look more, after so many points: whether to stop now."""
        stop = diagnosis.verdict.action in ENDS
        return self.lasts(stop, points, length(diagnosis.run, points), evidence(diagnosis, points))

    def lasts(self, stop: bool, points: int, length: float, evidence: int) -> bool:
        """The same of a look that says whether to stop, after so many of `length` points, upon so many values."""
        if not stop:
            self._recovery = max(self._recovery, points - self._since if self._looks else 0)
            self._looks = 0
            return False
        self._since = self._since if self._looks else points
        if not self._looks or evidence != self._evidence:
            self._looks, self._evidence = self._looks + 1, evidence
        asked = max(CONFIRMED * length, LONGER * self._recovery)
        return self._looks >= FEWEST_LOOKS and points - self._since >= asked


def evidence(diagnosis: Diagnosis, points: int) -> int:
    """How many values the critical findings rest on; one a point where a finding speaks of no curve."""
    critical = [o.finding for o in diagnosis.findings if o.finding and o.finding.severity is Severity.CRITICAL]
    curves = [diagnosis.run.series.get(finding.metric or "") for finding in critical]
    return sum(points if curve is None else len(curve) for curve in curves)


def length(run: Run, points: int) -> float:
    """How many points the run will have, from its planned length; where that is unknown, twice as many as it has now."""
    planned = run.config.number("total_steps")
    return points * max(1.0, planned / run.last_step) if planned and run.last_step else 2.0 * points


def warm_up() -> None:
    """Import what a look needs, before there is a loop that would wait for it."""
    registry.detectors()
    registry.causes()


def examine(run: Run) -> Diagnosis:
    """The diagnosis of `firstbreak diagnose`, from the same detectors and causes."""
    return diagnose(run, check(run))


def crashed(diagnosis: Diagnosis) -> list[str]:
    """A line for each detector that failed."""
    return [f"{o.detector}: {o.note}" for o in diagnosis.outcomes if o.status is Status.CRASHED]


def worst(diagnosis: Diagnosis) -> tuple[str, Finding] | None:
    """The finding that a verdict rests on: the gravest, of these the earliest; None where there is no serious one."""
    for outcome in diagnosis.findings:
        if outcome.finding is not None and outcome.finding.severity is not Severity.NOTICE:
            return outcome.detector, outcome.finding
    return None
