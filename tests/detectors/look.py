"""Ask one detector about one run, through the engine, as a diagnosis does."""

from firstbreak.engine.detection import check
from firstbreak.model import Confidence, Finding, Outcome, Run, Sample, Samples, Severity, Status


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
