"""When the detectors check a live run, and how long training waits for them.

Two rules decide when a scheduled check is due:

- The time of all checks stays below a share of the training time. A budget grows while training runs, and each check
  reduces the budget by its measured time.
- The number of points between two checks grows with the run. The number of checks grows with the logarithm of the steps.

Where the level of a curve has changed, or a check has advised to stop, the next one borrows its time, at most MOST_BORROWED
times beyond the share: however short a step is, the checks that decide come.

A check runs in its own thread, and training waits for a limited time (`patience`). A check that takes longer continues
beside training. A detector that hangs is interrupted and gives one warning, like a detector that fails.

The result of one check is reported. The guard acts only if several checks agree: see `Suspicion`.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from firstbreak.engine import registry
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Confidence, Diagnosis, Finding, Harm, Link, Run, Severity, Status
from firstbreak.words import percent

ENDS = frozenset({Action.STOP, Action.ROLLBACK})
MIN_POINTS = 4  #: points before the first check
GROWTH = 0.05  #: points between two checks, as a share of the points so far
GROWTH_SUSPECTED = 0.02  #: the same after a check that advised to stop
CONFIRMED = 0.05  #: share of the run's length over which every check must advise to stop before the guard acts
MOST_BORROWED = 12  #: checks of a run whose time is never earned
MIN_CHECKS = 3  #: number of such checks in a row, each with new evidence
LONGER = 2.0  #: factor for the longest alarm that has ended by itself; a new alarm must last longer
SCORE_ALONE = 0.5  #: times the age of the run: so long must an alarm last of which only the score tells
NEVER_GAINED = 3.0  #: the same where the score has not risen before it fell, or has not risen yet
#: beginnings of signals that say what the policy earns, not why
OUTCOMES = ("reward.", "eval.", "success_rate", "episode.")
HANGS = 30.0  #: seconds after which a check is interrupted
FIRST_COST = 0.1  #: seconds: assumed time of the first check


class TookTooLong(Exception):
    """Raised inside a detector that takes too long."""


@dataclass
class Schedule:
    """Decides whether a check is due. Times are in seconds."""

    share: float  #: of the training time that checks may take
    credit: float = 0.0
    cost: float = FIRST_COST
    next_at: float = MIN_POINTS  #: points
    checks: int = 0  #: so far
    borrowed: int = 0  #: of them, those in debt
    suspected: bool = False  #: the last check advised to stop, or the level of a curve has just changed
    seconds: float = 0.0  #: that training has waited for them
    training: float = 0.0  #: seconds

    def trained(self, seconds: float) -> None:
        """Add training time to the budget."""
        self.credit += self.share * seconds
        self.training += seconds

    def spent(self, seconds: float) -> None:
        """Subtract the guard's time from the budget, with or without a check."""
        self.credit -= seconds

    def due(self, points: int, *, borrowed: bool = False) -> bool:
        """Whether a check is due. A borrowed one does not wait for more points."""
        may = (borrowed or self.suspected) and (self.credit >= 0 or (self.share and self.borrowed < MOST_BORROWED))
        enough = may or self.credit >= self.cost
        return points >= MIN_POINTS and (borrowed or points >= self.next_at) and enough

    def checked(self, points: int, seconds: float, *, suspected: bool = False) -> None:
        """Record a check at `points` points that took `seconds`. The next check is earlier if this one advised to stop."""
        self.cost, self.suspected = max(seconds, 1e-3), suspected
        self.borrowed += self.credit < 0
        self.seconds += seconds
        self.next_at = points + max(1.0, (GROWTH_SUSPECTED if suspected else GROWTH) * points)

    @property
    def said(self) -> str:
        """How often the detectors have looked, and what that has cost."""
        if not self.checks:
            enough = f"a look comes when {percent(self.share)} of the training time is enough for it"
            return f"the detectors have not looked at the run yet: {enough}; every step is tested"
        share = self.seconds / (self.seconds + self.training) if self.training else 1.0
        times = "once" if self.checks == 1 else f"{self.checks} times"
        each = f"{self.seconds / self.checks:.2g} s"
        return f"the detectors have looked {times}, {each} each, {percent(share)} of the time; every step is tested between"


class ScheduledCheck:
    """One run of all detectors, in its own thread."""

    def __init__(self, make: Callable[[], Run]) -> None:
        self.diagnosis: Diagnosis | None = None
        self.error: Exception | None = None
        self._make = make
        self._interrupt_at = time.monotonic() + HANGS
        self._thread = threading.Thread(target=self._examine, name="firstbreak-check", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None) -> None:
        """Wait until the check is done, at most `seconds` (None: without a limit)."""
        self._thread.join(seconds)

    def done(self) -> bool:
        """Whether the check is done. A check that has been running for HANGS seconds is interrupted."""
        running, now = self._thread.is_alive(), time.monotonic()
        if running and now >= self._interrupt_at and self._thread.ident is not None:
            self._interrupt_at = now + HANGS
            thread = ctypes.c_ulong(self._thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TookTooLong))
        return not running

    def _examine(self) -> None:
        try:
            self.diagnosis = examine(self._make())
        except Exception as error:  # training continues after any error here
            self.error = error


class Suspicion:
    """Decides whether the guard acts on the advice of the checks: the advice to stop must last.

    The error rate of a verdict holds for one check of a whole run. A live run is checked many times, and healthy runs
    drop and recover. For this reason, the guard acts only if every check has advised to stop over CONFIRMED of the run's
    length, and if at least MIN_CHECKS of these checks had new evidence (between two evaluations, a check has no new value
    of the score). If the run has recovered by itself before, the alarm must last LONGER times the earlier alarm. Where only the
    score tells, and no sign of a reason, it must last for a part of the run's age: most of these recover.
    """

    def __init__(self) -> None:
        self._checks = 0  #: checks in a row that advised to stop, each with new evidence
        self._evidence = 0  #: number of values behind the last of them
        self._since = 0  #: points at the first of them
        self._recovery = 0  #: length in points of the longest alarm that ended by itself

    @property
    def begins(self) -> bool:
        """Whether the last check was the first of a row that advised to stop."""
        return self._checks == 1

    def on(self, diagnosis: Diagnosis, points: int) -> bool:
        """Take in the diagnosis of one more check. Returns whether to stop now."""
        stop = diagnosis.verdict.action in ENDS
        gained = diagnosis.score is not None and diagnosis.score.course in ("peaked", "collapsed")
        of_the_score = all((finding.metric or "").startswith(OUTCOMES) for finding in critical(diagnosis))
        age = 0.0 if not of_the_score else SCORE_ALONE if gained else NEVER_GAINED
        return self.lasts(stop, points, length(diagnosis.run, points), evidence(diagnosis, points), age)

    def lasts(self, stop: bool, points: int, length: float, evidence: int, age: float = 0.0) -> bool:
        """The same from numbers: the advice, the points so far, the expected length in points, the number of values, and how long
        it must last as a share of the run's age."""
        if not stop:
            self._recovery = max(self._recovery, points - self._since if self._checks else 0)
            self._checks = 0
            return False
        self._since = self._since if self._checks else points
        if not self._checks or evidence != self._evidence:
            self._checks, self._evidence = self._checks + 1, evidence
        required = max(CONFIRMED * length, LONGER * self._recovery, age * self._since)
        return self._checks >= MIN_CHECKS and points - self._since >= required


def evidence(diagnosis: Diagnosis, points: int) -> int:
    """The number of values behind the critical findings. A finding without a curve counts one value per point."""
    curves = [diagnosis.run.series.get(finding.metric or "") for finding in critical(diagnosis)]
    return sum(points if curve is None else len(curve) for curve in curves)


def critical(diagnosis: Diagnosis) -> list[Finding]:
    """The critical findings."""
    return [o.finding for o in diagnosis.findings if o.finding and o.finding.severity is Severity.CRITICAL]


def length(run: Run, points: int) -> float:
    """The expected number of points of the run, from its planned length. Without a plan, twice the points so far."""
    planned = run.config.number("total_steps")
    return points * max(1.0, planned / run.last_step) if planned and run.last_step else 2.0 * points


def warm_up() -> None:
    """Import everything that a check needs, before the training loop starts."""
    registry.detectors()
    registry.causes()


def examine(run: Run) -> Diagnosis:
    """The same diagnosis as `firstbreak diagnose`."""
    return diagnose(run, check(run))


def crashed(diagnosis: Diagnosis) -> list[str]:
    """A line for each detector that failed."""
    return [f"{o.detector}: {o.note}" for o in diagnosis.outcomes if o.status is Status.CRASHED]


def warnings(diagnosis: Diagnosis) -> dict[str, Finding]:
    """What to report of a diagnosis that says to watch, by detector: what is critical, and, where the score loses or gains only
    in training, each warning of more than low confidence. Slow training is no such thing.
    """
    harmed = diagnosis.harm in (Harm.LOST, Harm.LOSING, Harm.APART)
    return {
        o.detector: o.finding
        for o in diagnosis.findings
        if o.finding is not None and o.link is not Link.SYSTEMS and o.finding.confidence is not Confidence.LOW
        and o.finding.severity in ((Severity.WARNING, Severity.CRITICAL) if harmed else (Severity.CRITICAL,))
    }  # fmt: skip


def worst(diagnosis: Diagnosis) -> tuple[str, Finding] | None:
    """The finding behind a verdict: the earliest of the most severe findings. None if there is no serious finding."""
    for outcome in diagnosis.findings:
        if outcome.finding is not None and outcome.finding.severity is not Severity.NOTICE:
            return outcome.detector, outcome.finding
    return None
