"""Run and outcomes -> Diagnosis: rank the causes, name the first broken link, say what to do. Reads and writes no file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.engine import likelihood
from firstbreak.engine.detection import check
from firstbreak.engine.forecast import forecasts
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.published_settings import tuned
from firstbreak.engine.rank import by_link, rank
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.smooth import smooth
from firstbreak.engine.thresholds import Thresholds, changed
from firstbreak.engine.verdict import judge, leading_cause_and_rival, link_verdicts
from firstbreak.model import (
    EMPTY,
    BestCheckpoint,
    Confidence,
    Cost,
    Diagnosis,
    Finding,
    FirstBreak,
    Interval,
    Link,
    Outcome,
    RankedCause,
    Role,
    Run,
    Severity,
    Status,
    Weight,
    WeightKind,
)
from firstbreak.values import replace

CAUSES_SHOWN = 5
#: links whose breaks a score that was kept makes doubtful
OF_THE_MOVES = frozenset({Link.POLICY_UPDATE, Link.EXPLORATION})
AT_ONCE = 0.5  #: of the time before it: what took less came at once (convention)
PROVEN = 1 / 3  #: of the run: a score that was kept for so long shows that a change did no harm (convention)


def diagnose(
    run: Run,
    outcomes: Sequence[Outcome] | None = None,
    *,
    rate_per_hour: float | None = None,
    known: Mapping[str, Sequence[Weight]] = EMPTY,
    thresholds: Thresholds = EMPTY,
) -> Diagnosis:
    """What broke first, when, why, and what to do.

    `outcomes` are those of `check(run)`; without them, `check(run)` is called. `rate_per_hour` is what an hour of the run
    costs in the user's money. `known` is evidence from elsewhere, by candidate: the answers of experiments. `thresholds`
    sets thresholds of detectors, as {detector: {name: value}}; given `outcomes` were made with them.
    """
    outcomes = check(run, thresholds=thresholds) if outcomes is None else list(outcomes)
    inputs = Inputs(run)
    ranked = rank(inputs, outcomes, known, shown=CAUSES_SHOWN)
    first_break = find_first_break(inputs, outcomes, ranked)
    if first_break is not None:
        first_break = replace(first_break, interval=widened(first_break.interval, run, first_break.metric))
    best = best_checkpoint(run, inputs, _dead_since(outcomes))
    certain = _cause_is_proved(outcomes, ranked, first_break) or _dead_since(outcomes) is not None
    sure = healthy(ranked) <= likelihood.stop_below() or certain
    verdict = judge(inputs, outcomes, ranked, first_break, best, sure=sure)
    return Diagnosis(
        run=run,
        verdict=verdict,
        first_break=first_break,
        causes=tuple(c for i, c in enumerate(ranked) if i < CAUSES_SHOWN or c.id == HEALTHY),
        outcomes=tuple(outcomes),
        links=link_verdicts(
            outcomes, first_break, verdict.action, leading_cause_and_rival(ranked, first_break)[1], known=verdict.known
        ),
        best_checkpoint=best,
        cost=cost_since(run, first_break, rate_per_hour),
        forecasts=forecasts(inputs),
        expected=tuple(dict.fromkeys(o.note for o in outcomes if o.expected)),
        thresholds=changed(thresholds),
        tuned=tuned(run),
    )


def find_first_break(inputs: Inputs, outcomes: Sequence[Outcome], ranked: Sequence[RankedCause]) -> FirstBreak | None:
    """The link of the most probable cause, and the earliest finding that it explains.

    The order of the onsets alone names the wrong link in most runs where one fault causes others. So the link comes from
    the ranking of causes, and the step comes from the findings. None where "healthy" is not improbable enough
    (likelihood.accuse_below), where it is more probable than the links that are named, or where only notices were found. Where
    the score was kept all the same, a cause in how the policy moves would have harmed it. It needs as much evidence as a
    stop does: a critical finding, and a healthy run that is as improbable (likelihood.stop_below). A proof needs no such doubt.
    """
    serious = [o for o in outcomes if o.finding is not None and _more_than_a_guess(o.finding)]
    if not serious:
        return None
    top = next((c for c in ranked if c.link is not None), None)
    link = top.link if top and top.link else min(serious, key=lambda o: o.link.order).link
    explained = _explained(top)
    seen = [o for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    here = [o for o in seen if o.detector in explained and o.link is link]
    shown = here or [o for o in seen if o.detector in explained] or serious
    found = [o.finding for o in shown if o.finding is not None]
    finding = min(found, key=_by_onset)
    proved = any(Role.PROOF in o.roles for o in shown)
    moves = top is not None and top.link in OF_THE_MOVES and not proved
    harmless = moves and all(_kept_since(inputs, f) for f in found)
    if harmless and not any(o.finding is not None and o.finding.severity is Severity.CRITICAL for o in serious):
        return None
    limit = likelihood.stop_below() if harmless else likelihood.accuse_below()
    also, probability = _told_apart(link, by_link(ranked))
    here_or_there = probability * sum(c.probability for c in ranked if c.link is not None)
    doubtful = healthy(ranked) > limit or (top is not None and here_or_there <= healthy(ranked))
    if doubtful and not (proved and top is not None and top.probability > healthy(ranked)):
        return None
    blind = any(_is_blind(upstream, outcomes) for upstream in Link if upstream.order < link.order)
    return FirstBreak(
        link=link,
        or_earlier=blind,
        metric=finding.metric,
        step=finding.onset,
        interval=finding.interval,
        also=also,
        probability=probability,
    )


def _cause_is_proved(
    outcomes: Sequence[Outcome], ranked: Sequence[RankedCause], first_break: FirstBreak | None
) -> bool:
    """Whether an identity that failed proves the cause that is named, which is more probable than all others together."""
    top, _ = leading_cause_and_rival(ranked, first_break)
    proofs = {o.detector for o in outcomes if Role.PROOF in o.roles and o.finding is not None}
    return top is not None and top.probability > 0.5 and bool(proofs & _explained(top))


def _explained(cause: RankedCause | None) -> set[str]:
    """The detectors whose findings speak for a cause."""
    found = (WeightKind.FOUND, WeightKind.PROVED)
    return set() if cause is None else {w.finding for w in cause.evidence if w.kind in found}


def _told_apart(link: Link, probabilities: Mapping[Link, float]) -> tuple[Link | None, float]:
    """The most probable other link, where `link` alone is not more probable than all others; and how probable the answer is."""
    alone = probabilities.get(link, 0.0)
    others = {other: p for other, p in probabilities.items() if other is not link}
    if alone > 0.5 or not others:
        return None, alone if probabilities else 1.0
    rival = max(others, key=lambda other: others[other])
    return rival, alone + others[rival]


def _kept_since(inputs: Inputs, finding: Finding) -> bool:
    """Whether the score was kept, and shows that what was found did no harm: it improved since then.

    Where it did not, a score that is kept is enough for what came little by little, as the policy learned, and long ago.
    What came at once in mid-run may be what ended the gains, and the harm of what came late is still to come.
    """
    if not inputs.kept or inputs.score is None:
        return False
    since, span = finding.onset, _span(inputs.run, finding.metric)
    if since is None or span is None or inputs.run.axis_of(finding.metric) != inputs.score.axis:
        return True
    if any(rises(s.between(since)) for s in (inputs.score, inputs.second_score) if s is not None):
        return True
    came = finding.interval or span
    at_once = came[1] - came[0] < AT_ONCE * (came[0] - span[0])
    return not at_once and span[1] - since >= PROVEN * (span[1] - span[0])


def _span(run: Run, metric: str | None) -> Interval | None:
    """The first and the last step of a run, on the axis that a metric's steps are counted on."""
    axis = run.axis_of(metric)
    ends = [(s.steps[0], s.steps[-1]) for s in run.series.values() if len(s) and s.axis == axis]
    return (float(min(start for start, _ in ends)), float(max(end for _, end in ends))) if ends else None


def widened(interval: Interval | None, run: Run, metric: str | None = None) -> Interval | None:
    """The interval of the onset, early enough to contain the true onset in 95 % of the broken runs of the lab's training split.

    A detector's interval says where its curve changed. The fault may have started before any curve showed it, but not after.
    What the first point of a curve shows may have been true since step 1, unless the log begins in the middle of a run.
    """
    if interval is None or (span := _span(run, metric)) is None:
        return interval
    first, last = span
    margin = likelihood.onset_margin() * (last - first)
    start = first if first > margin else min(first, 1.0)
    return max(start, interval[0] - margin), interval[1]


def healthy(ranked: Sequence[RankedCause]) -> float:
    """The probability that nothing is wrong."""
    return next((c.probability for c in ranked if c.id == HEALTHY), 0.0)


def _more_than_a_guess(finding: Finding) -> bool:
    """Critical, or a warning of more than low confidence."""
    guess = finding.severity is Severity.WARNING and finding.confidence is Confidence.LOW
    return finding.severity is not Severity.NOTICE and not guess


def _by_onset(finding: Finding) -> tuple[float, int]:
    return (np.inf if finding.onset is None else finding.onset, -finding.severity.rank)


def _is_blind(link: Link, outcomes: Sequence[Outcome]) -> bool:
    """Whether nothing of this link was measured, although the run could have logged it."""
    statuses = {o.status for o in outcomes if o.link is link}
    return not statuses & {Status.OK, Status.FOUND} and bool(statuses & {Status.NOT_MEASURED, Status.CRASHED})


def _dead_since(outcomes: Sequence[Outcome]) -> float | None:
    """The step from which on the weights are not finite: a checkpoint saved later is of no use, whatever its score."""
    found = (o.finding for o in outcomes if Role.WEIGHTS_LOST in o.roles and o.finding is not None)
    return next((f.onset for f in found if f.severity is Severity.CRITICAL), None)


def best_checkpoint(run: Run, inputs: Inputs, dead: float | None = None) -> BestCheckpoint | None:
    """Where the score was best (smoothed, so that one lucky evaluation does not win), and the checkpoint to go back to.

    The checkpoint is the one that was saved at the peak, else the nearest of those that are as good as the best one, within
    the noise of the score. Checkpoints from the step `dead` on do not count, nor those at which half of the gain was lost.
    """
    score, shape = inputs.score, inputs.trajectory
    if score is None or shape is None or not np.isfinite(shape.best_step) or score.name == "sft.likelihood":
        return None  # a training loss is lowest where most of the text is memorised
    steps, level = smooth(score)
    end = math.inf if dead is None else dead
    step, value = float(shape.best_step), float(shape.best)
    if step >= end:
        if not np.any(alive := steps < end):
            return None
        k = int(np.argmax(level[alive]))
        step, value = float(steps[k]), float(level[k])
    levels = {c: float(np.interp(c.step, steps, level)) for c in run.checkpoints if c.step < end}
    levels = {c: reached for c, reached in levels.items() if c.step <= step or reached >= (value + shape.start) / 2}
    enough = max(levels.values(), default=0.0) - noise_scale(score.finite.values)
    apart = median(np.diff(score.steps)) if len(score) > 1 else 0.0
    good = [c for c, reached in levels.items() if reached >= enough or abs(c.step - step) <= apart / 2]
    saved = min(good, key=lambda c: abs(c.step - step), default=None)
    metric = score.name
    if metric == "eval.likelihood" and value > 0:  # in the unit that was logged
        metric, value = "eval.loss", -math.log(value)
    return BestCheckpoint(
        step=step, metric=metric, value=value, path=saved.path if saved else None, saved=saved.step if saved else None
    )


def cost_since(run: Run, first_break: FirstBreak | None, rate_per_hour: float | None) -> Cost | None:
    """What the run has spent since the first break: steps, share of the run, hours and money where the log can say."""
    if first_break is None or first_break.step is None or (span := _span(run, first_break.metric)) is None:
        return None
    steps = max(0.0, span[1] - first_break.step)
    length = span[1] - span[0]
    hours = _hours_since(run, first_break.step, run.axis_of(first_break.metric))
    return Cost(
        steps=steps,
        fraction=steps / length if length > 0 else None,
        hours=hours,
        money=hours * rate_per_hour if hours is not None and rate_per_hour is not None else None,
    )


def _hours_since(run: Run, step: float, axis: str) -> float | None:
    """Hours between a step and the end, from the elapsed time or the time per step, whichever was logged (in seconds)."""
    curves = (run.series.get(name) for name in ("time.elapsed", "time.step"))
    elapsed, per_step = (s if s is not None and s.axis == axis else None for s in curves)
    if elapsed is not None and len(elapsed.finite) > 1:
        clock = elapsed.finite
        return float(max(0.0, clock.values[-1] - np.interp(step, clock.steps, clock.values))) / 3600
    if per_step is not None and len(after := per_step.finite.between(step)):
        return float(after.values.sum()) / 3600
    return None
