"""When the detectors look at a live run, and for how long at most.

Two rules decide when. The time that looks take stays below a share of the time that training takes (a bucket that fills
while training runs, and that each look empties by what it really cost), and the points between two looks grow with the
run, so that a million steps are looked at as often as the logarithm of a million.

A look runs in a thread that training waits for, at most so long as its patience lasts. A look that takes longer goes on
beside training, and a detector that hangs is interrupted and costs one line, like any other that fails.
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
from firstbreak.model import Diagnosis, Finding, Run, Severity, Status

FEWEST = 10  #: points before the first look
GROWTH = 0.02  #: of the points so far, between two looks
EARLY = 0.05  #: of the planned length, in which detectors advise no stop
CONFIRMED = 0.05  #: of the points so far, over which every look has to say "stop" before anything is done
FEWEST_LOOKS = 3  #: and so many looks in a row
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

    def looked(self, points: int, seconds: float) -> None:
        """A look at so many points has taken so long: the next one is expected to."""
        self.cost = max(seconds, 1e-3)
        self.next_at = points + max(1.0, GROWTH * points)


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


class Agreement:
    """Whether the looks of the last while agree on a stop: one alone may have caught an unlucky moment."""

    def __init__(self) -> None:
        self._suspected: list[int] = []

    def on(self, stop: bool, points: int) -> bool:
        """One look more: FEWEST_LOOKS in a row have said "stop", over CONFIRMED of the points so far."""
        self._suspected = [*self._suspected, points] if stop else []
        return len(self._suspected) >= FEWEST_LOOKS and points - self._suspected[0] >= CONFIRMED * points


def early(run: Run) -> bool:
    """Whether a run has hardly begun: first scores fall and rise for no reason. Not where its planned length is unknown."""
    planned = run.config.number("total_steps")
    return planned is not None and run.last_step is not None and run.last_step < EARLY * planned


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
