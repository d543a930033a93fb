"""Run -> [Outcome]: every detector is asked about the run."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from firstbreak import dialects
from firstbreak.dialects import signals
from firstbreak.engine.checks import Check, run_check
from firstbreak.engine.families import for_family
from firstbreak.engine.inputs import DERIVED, GIVEN, Inputs
from firstbreak.engine.registry import detectors
from firstbreak.engine.stats.agreement import denies
from firstbreak.engine.stats.power import hidden
from firstbreak.engine.thresholds import Thresholds, changed
from firstbreak.model import EMPTY, Confidence, Outcome, Run, Series, Severity, Status
from firstbreak.values import replace
from firstbreak.words import number

ENOUGH_EVALUATIONS = 20  #: evaluations: fewer on a plateau may hide a fall (convention)
SCORE = frozenset({"score", "trajectory", "solved"})  #: inputs that are made of the score


class OfRun(Inputs):
    """A run as a check asks about it."""

    def missing(self, name: str) -> str:
        """What is missing, in the trainer's own words where they are known."""
        if name in DERIVED:
            return DERIVED[name].missing(self.family)
        if name in GIVEN:
            return f"no {name} recorded"
        signal = signals.BY_PARAMETER[name].name
        if signal.startswith("proof."):
            used = "measured nothing of it" if self.recorded("proof.") else "was not used"
            return f"firstbreak.recorder() {used}"
        if parts := sum(name.startswith(f"{signal}@") for name in self.run.series):
            return f"{signal} is logged for {parts} parts, and not for all of them together"
        how = for_family(dialects.how_to_log(self.run.trainer, signal), self.family)
        return f"{signal} is not logged" + (f": {how}" if how else "")


def check(run: Any, *, only: Iterable[str] | None = None, thresholds: Thresholds = EMPTY) -> list[Outcome]:
    """One outcome per detector, in loop order, of a run or of what `read` makes one of.

    `only` restricts to these detector ids; `thresholds` sets thresholds, as {detector: {name: value}}. Raises `BadThreshold`
    where a detector or a threshold of that name does not exist.
    """
    if not isinstance(run, Run | str | PathLike):  # a path may have thresholds of its own: `diagnose` reads it
        from firstbreak.readers.read import read

        run = read(run)
    given: dict[str, dict[str, float]] = {}
    for one in changed(thresholds):
        given.setdefault(one.detector, {})[one.name] = one.value
    wanted = detectors() if only is None else {name: detectors()[name] for name in only}
    about = OfRun(run)
    with np.errstate(all="ignore"):  # a log may hold 1e300, whose square is no news to the user
        training = OfRun(run, about.second_score) if about.second_score is not None else None
        return [
            _with_power(_by_both_scores(d, about, training, given.get(d.id, EMPTY)), d, about) for d in wanted.values()
        ]


def _with_power(outcome: Outcome, detector: Check, about: OfRun) -> Outcome:
    """What a check that saw nothing could not have seen: the change of its curve that the noise hides."""
    if outcome.status is not Status.OK or outcome.note:
        return outcome
    curves = (s for name in (*detector.needs, *detector.uses) if isinstance(s := about.ask(name), Series))
    curve = next(curves, None)
    size = None if curve is None else hidden(curve)
    if curve is None or size is None:
        return outcome
    n = len(curve.finite)
    return replace(outcome, note=f"{n} values of {curve.name}; their noise hides a lasting change below {number(size)}")


def _by_both_scores(detector: Check, about: OfRun, training: OfRun | None, thresholds: Mapping[str, float]) -> Outcome:
    """How a detector ends that asks about the score. A run with an evaluation has two: the evaluation, and the training reward.

    The evaluation comes first. The training reward is judged as well where the evaluation has too few points for this
    detector, and where a finding on either counts. So an evaluation that shows nothing never hides what the training reward
    shows. An evaluation that improved, or is at its maximum, speaks for itself.
    """
    outcome = run_check(detector, about, thresholds)
    if training is None or SCORE.isdisjoint({*detector.needs, *detector.uses}):
        return outcome
    course = about.trajectory
    rose = course is not None and (course.kind == "rising" or (course.learned and course.n >= ENOUGH_EVALUATIONS))
    good = about.solved or (rose and course is not None and not course.lost and about.fall is None)
    if good or (outcome.status is not Status.NOT_MEASURED and not detector.either_score):
        return outcome
    other = run_check(detector, training, thresholds)
    lost = training.trajectory
    collapsed = lost is not None and lost.kind == "collapsed"  # healthy runs lose up to 65 % of the gain
    agree = course is not None and lost is not None and course.kind == lost.kind == "flat"
    if agree or (collapsed and lost and about.eval_score is not None and not denies(about.eval_score, lost)):
        return max(outcome, other, key=_seriousness)
    return max(outcome, _doubted(other), key=_seriousness)


def _doubted(outcome: Outcome) -> Outcome:
    """A finding of the training reward alone, which the evaluation denies: a warning at most."""
    finding = outcome.finding
    if finding is None or finding.severity is not Severity.CRITICAL:
        return outcome
    return replace(outcome, finding=replace(finding, severity=Severity.WARNING, confidence=Confidence.MEDIUM))


def _seriousness(outcome: Outcome) -> tuple[int, int]:
    """A finding before none, the more severe one first; then an answer before none."""
    severity = outcome.finding.severity.rank if outcome.finding is not None else -1
    return severity, int(outcome.status is not Status.NOT_MEASURED)
