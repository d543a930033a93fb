"""Ask one detector about one run, through the engine, as a diagnosis does.

A link's `test_cases.py` is a table of what its detectors say: by detector and by a sentence that holds, one case or several.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from firstbreak.engine.detection import check
from firstbreak.model import Confidence, Finding, Outcome, Run, Sample, Samples, Severity, Status
from firstbreak.values import replace
from tests.make import run, series

CRITICAL, WARNING, NOTICE = Severity.CRITICAL, Severity.WARNING, Severity.NOTICE
HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW

Curves = Mapping[str, Any] | Run
Said = str | Severity | Confidence


def look(detector: str, run: Run) -> Outcome:
    """What the detector says."""
    (outcome,) = check(run, only=[detector])
    return outcome


def found(detector: str, run: Run, severity: Severity | None = None, confidence: Confidence | None = None) -> Finding:
    """What the detector found; fails where it found nothing, crashed, or is of another severity or confidence."""
    outcome = look(detector, run)
    assert outcome.status is Status.FOUND, outcome
    assert outcome.finding is not None
    assert severity in (None, outcome.finding.severity), outcome.finding
    assert confidence in (None, outcome.finding.confidence), outcome.finding
    return outcome.finding


def silent(detector: str, run: Run) -> bool:
    """The detector looked, and saw nothing wrong."""
    outcome = look(detector, run)
    assert outcome.status is Status.OK, outcome
    return True


def expected(detector: str, run: Run) -> str:
    """Why what looks odd to the detector is right; fails where it does not say so."""
    outcome = look(detector, run)
    assert outcome.expected, outcome
    return outcome.note


def dump(*rows: tuple[str, str, float]) -> Samples:
    """Samples of (completion, reference, reward), one a step."""
    samples = [
        Sample(step=float(i), completion=text, reward=reward, meta={"answer": answer})
        for i, (text, answer, reward) in enumerate(rows)
    ]
    return Samples(lambda: iter(samples), ("samples.jsonl",))


def proved(run: Run) -> set[str]:
    """The detectors of proofs that found something."""
    return {o.detector for o in check(run) if "proof" in o.roles and o.finding is not None}


@dataclass(frozen=True)
class Case:
    """A run, and how a detector ends on it."""

    run: Run
    status: Status
    said: Sequence[Said] = ()  #: words of the message or of the note, and how serious and sure the finding is
    seen: Mapping[str, Any] = field(default_factory=dict)  #: of the finding; an onset may lie between two steps
    expected: bool = False
    of: str = ""  #: the detector, where the case is about another one than its row

    def holds(self, detector: str) -> None:
        """Ask the detector; fails where it says something else."""
        outcome = look(self.of or detector, self.run)
        assert (outcome.status, outcome.expected or not self.expected) == (self.status, True), outcome
        finding = outcome.finding
        known = [outcome.note] if finding is None else [finding.message, finding.severity, finding.confidence]
        for said in self.said:
            of_text = isinstance(said, str) and not isinstance(said, Severity | Confidence)
            assert said in (known[0] if of_text else known[1:]), (said, known)
        for name, value in self.seen.items():
            assert _is(getattr(finding, name), value), (name, value, finding)


Cases = Mapping[str, Mapping[str, Case | Sequence[Case]]]


def finds(curves: Curves, *said: Said, of: str = "", **how: Any) -> Case:
    """The detector finds something. `onset`, `interval`, `metric`, `numbers`: of the finding; the rest is the run's."""
    seen = {name: how.pop(name) for name in ("onset", "interval", "metric", "numbers") if name in how}
    return Case(_made(curves, how), Status.FOUND, said, seen, of=of)


def passes(curves: Curves, *said: str, of: str = "", **how: Any) -> Case:
    """The detector looks, and sees nothing wrong."""
    return Case(_made(curves, how), Status.OK, said, of=of)


def expects(curves: Curves, *said: str, **how: Any) -> Case:
    """What looks odd to the detector is right."""
    return Case(_made(curves, how), Status.OK, said, expected=True)


def cannot(curves: Curves, *said: str, **how: Any) -> Case:
    """The detector has not what it needs."""
    return Case(_made(curves, how), Status.NOT_MEASURED, said)


def exempt(curves: Curves, *said: str, **how: Any) -> Case:
    """The detector does not hold for such a run."""
    return Case(_made(curves, how), Status.NOT_APPLICABLE, said)


def each_of(table: Cases) -> Callable[..., None]:
    """The test of a table: one for each of its sentences."""
    rows = [
        pytest.param(detector, [held] if isinstance(held, Case) else held, id=f"{detector}: {sentence}")
        for detector, sentences in table.items()
        for sentence, held in sentences.items()
    ]

    @pytest.mark.parametrize(("detector", "cases"), rows)
    def holds(detector: str, cases: Sequence[Case]) -> None:
        for case in cases:
            case.holds(detector)

    return holds


def _made(curves: Curves, how: Mapping[str, Any]) -> Run:
    """The run of curves by name; a pair is values and their steps."""
    if isinstance(curves, Run):
        return curves
    made = run({name: values for name, values in curves.items() if not isinstance(values, tuple)}, **how)
    others = {name: series(name, *values) for name, values in curves.items() if isinstance(values, tuple)}
    return replace(made, series={name: (made.series | others)[name] for name in curves})


def _is(found: Any, value: Any) -> bool:
    """Whether a field of a finding has this value, or lies between two; of `numbers`, those that are given."""
    if isinstance(value, Mapping):
        return all(found[name] == one for name, one in value.items())
    if isinstance(value, tuple) and isinstance(found, float):
        return bool(value[0] <= found <= value[1])
    return bool(found == value)
