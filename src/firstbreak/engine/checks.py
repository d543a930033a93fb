"""One kind of check, and the one place where it is run.

A check asks one question. It belongs to a link, says what it needs, for which families of runs it holds and with which
thresholds, and answers with a `Finding`, `None` (checked, nothing wrong), a sentence (the same, with what was measured),
`Expected` (looks unusual and is right), `NotApplicable` or `NotMeasured`. Detectors ask curves, rows of the audit ask samples,
probes ask what a run is going to be made of. All of them are run here; a check that raises costs one line of the
report, never the report.
"""

import math
from collections.abc import Callable, Mapping, Sized
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypedDict, TypeVar

from firstbreak.engine.families import EVERY, OF_LINK, Families, Family
from firstbreak.model import (
    EMPTY,
    Confidence,
    Evidence,
    Expected,
    Fact,
    Finding,
    Interval,
    Link,
    Message,
    NotApplicable,
    NotMeasured,
    Outcome,
    Role,
    Series,
    Severity,
    Status,
)
from firstbreak.values import dataclass, field

T = TypeVar("T", int, float)
Points = TypeVar("Points", bound=Sized)

Answer = Finding | Expected | NotApplicable | NotMeasured | str | None


@dataclass(frozen=True)
class Threshold:
    """What a number in a signature means. `at` makes one."""

    unit: str  #: "share", "ratio", "nats per token", "points", ...
    reason: str  #: why this much, in words
    source: str  #: a paper, a trainer's file, or the command that measured it
    default: Any = None  #: the value in the signature


class _Float(float):
    threshold: Threshold


class _Int(int):
    threshold: Threshold


def at(default: T, unit: str, reason: str, source: str = "convention") -> T:
    """The default of a threshold, which says what it means: `growth: float = at(10.0, "ratio", "why so much")`.

    It is a number like any other, and the registry takes the number alone.
    """
    number = (_Int if isinstance(default, int) else _Float)(default)
    number.threshold = Threshold(unit, reason, source, default)
    return number


class Seen(TypedDict):
    """The fields of a finding that say where it is seen: `warning("...", seen_since(...))`."""

    metric: str | None
    onset: float | None
    interval: Interval | None
    evidence: tuple[Evidence, ...]


def seen_since(
    curve: Series,
    text: str,
    onset: float | None,
    interval: Interval | None = None,
    *,
    metric: str = "",
    level: float | None = None,
    along: Mapping[str, Series | None] = EMPTY,
    beside: Mapping[str, Series | None] = EMPTY,
) -> Seen:
    """Seen in a curve from a step on, which a report marks. The interval, where none is given, is that step itself.

    `text` says what the curve is; further recorded curves by such a text stand in `along`, where the step is marked in them too,
    or `beside`. `metric`: the signal that shows it, where it is not the curve's own name. `level`: a line across the plot.
    """
    drawn = (Evidence(text=text, series=curve, since=onset, level=level), *_others(along, onset), *_others(beside))
    return seen_as(metric or curve.name, onset, interval, drawn)


def seen_in(
    curve: Series,
    text: str,
    onset: float | None = None,
    interval: Interval | None = None,
    *,
    metric: str = "",
    level: float | None = None,
    beside: Mapping[str, Series | None] = EMPTY,
) -> Seen:
    """Seen in a curve as a whole, of which nothing is marked: since its first point where no other onset is given."""
    seen = seen_since(curve, text, float(curve.steps[0]) if onset is None else onset, interval, metric=metric)
    seen["evidence"] = (Evidence(text=text, series=curve, level=level), *_others(beside))
    return seen


def seen_as(
    metric: str | None = None,
    onset: float | None = None,
    interval: Interval | None = None,
    drawn: Mapping[str, Series | None] | tuple[Evidence, ...] = (),
) -> Seen:
    """Seen in no single curve. The interval, where none is given, is the step of the onset itself."""
    if interval is None and onset is not None:
        interval = (onset, onset)
    evidence = drawn if isinstance(drawn, tuple) else tuple(_others(drawn))
    return Seen(metric=metric, onset=onset, interval=interval, evidence=evidence)


def graded(
    severity: Severity,
    says: str,
    seen: Seen,
    /,
    confidence: Confidence = Confidence.HIGH,
    sudden: bool = False,
    numbers: Mapping[str, Any] = EMPTY,
    **parts: Fact | str,
) -> Finding:
    """A finding: what it says, as a template of `parts` where there are any, and where it is seen. It is sure by default."""
    message = Message.tell(says, **parts) if parts else says
    return Finding(message=message, severity=severity, confidence=confidence, sudden=sudden, numbers=numbers, **seen)


critical = partial(graded, Severity.CRITICAL)
warning = partial(graded, Severity.WARNING)
notice = partial(graded, Severity.NOTICE)


class TooFew(Exception):
    """What a check raises whose inputs were recorded and are too short: the answer is a `NotMeasured` with these words."""


def enough(points: Points, least: int, what: str, why: str = "") -> Points:
    """The points of a curve, where there are so many; else the check ends here, as one that could not look."""
    if len(points) < least:
        raise TooFew(f"{len(points)} {what} are too few{why and ' '}{why} (needs {least})")
    return points


def from_point(curve: Series, i: int) -> tuple[float, Interval]:
    """The step of a curve's point, and the interval of a change that this point is the first to show: from the one before on."""
    step = float(curve.steps[i])
    return step, (float(curve.steps[max(i - 1, 0)]), step)


def most_serious(*answers: Finding | NotMeasured | None) -> Finding | NotMeasured | str | None:
    """The most serious finding, the earliest of equals. Without one: what could not be looked at, all of it or a part."""
    found = [a for a in answers if isinstance(a, Finding)]
    if found:
        return min(found, key=lambda f: (-f.severity.rank, math.inf if f.onset is None else f.onset))
    lacking = "; ".join(dict.fromkeys(str(a.why) for a in answers if isinstance(a, NotMeasured)))
    return lacking or None if None in answers else NotMeasured(lacking)


def _others(curves: Mapping[str, Series | None], since: float | None = None) -> tuple[Evidence, ...]:
    return tuple(Evidence(text=text, series=s, since=since) for text, s in curves.items() if s is not None)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One question."""

    id: str
    link: Link
    ask: Callable[..., Answer]
    title: str = ""
    doc: str = ""
    needs: tuple[str, ...] = ()  #: inputs without which it cannot look
    uses: tuple[str, ...] = ()  #: inputs it uses where they were recorded
    thresholds: Mapping[str, Threshold] = field(default_factory=lambda: EMPTY)
    families: Families = EVERY
    roles: frozenset[Role] = frozenset()
    either_score: bool = (
        False  #: asks the training reward as well where the evaluation shows nothing, not only where it cannot
    )


class Asked(Protocol):
    """What a check is asked about."""

    @property
    def family(self) -> Family:
        """Which kind of run it is."""

    def ask(self, name: str) -> Any:
        """The input of this name, or None where there is none."""

    def missing(self, name: str) -> str:
        """What to log so that there is one."""


def run_check(check: Check, about: Asked | None = None, thresholds: Mapping[str, Any] = EMPTY) -> Outcome:
    """How the check ends. `about` may be left out where it needs no inputs; `thresholds` override its own by name."""
    answer: Answer | Exception
    try:
        answer = check.ask() if about is None else _answer(check, about, thresholds)
    except TooFew as few:
        answer = NotMeasured(str(few))
    except Exception as error:  # one bad check must not hide what the others see
        answer = error
    return _outcome(check, answer)


def _answer(check: Check, about: Asked, thresholds: Mapping[str, Any]) -> Answer:
    for families in (OF_LINK[check.link], check.families):
        if families.exclude(about.family):
            return NotApplicable(families.why or f"only {families}")
    given = {name: about.ask(name) for name in (*check.needs, *check.uses)}
    if absent := [name for name in check.needs if given[name] is None]:
        return NotMeasured("; ".join(map(about.missing, absent)))
    if not check.families.include(about.family):
        return NotApplicable(check.families.why or f"only {check.families}")
    recorded = {name: value for name, value in given.items() if value is not None or name in check.needs}
    return check.ask(**recorded, **thresholds)


def _outcome(check: Check, answer: Answer | Exception) -> Outcome:
    status, note, finding = Status.OK, "", answer if isinstance(answer, Finding) else None
    match answer:
        case None:
            pass
        case str(note):
            pass
        case Finding():
            status = Status.FOUND
        case Expected(note):
            pass
        case NotApplicable(note):
            status = Status.NOT_APPLICABLE
        case NotMeasured(note):
            status = Status.NOT_MEASURED
        case Exception() as error:
            import traceback

            frame = traceback.extract_tb(error.__traceback__)[-1]
            status, note = (
                Status.CRASHED,
                f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})",
            )
        case other:
            status = Status.CRASHED
            note = f"a check answers with a Finding, Expected, NotApplicable, NotMeasured or None, not {other!r}"
    return Outcome(
        detector=check.id,
        link=check.link,
        status=status,
        finding=finding,
        note=note,
        expected=isinstance(answer, Expected),
        roles=_roles(check.roles, finding),
    )


def _roles(roles: frozenset[Role], finding: Finding | None) -> frozenset[Role]:
    """A relation that only the recorder can prove: what the log alone shows of it is no proof."""
    if finding is None or Role.RELATION not in roles or (finding.metric or "").startswith("proof."):
        return roles
    return roles - {Role.PROOF}
