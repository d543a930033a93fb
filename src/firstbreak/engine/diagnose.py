"""Run and outcomes -> Diagnosis: rank the causes, name the first broken link, say what to do. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from firstbreak.engine import likelihood
from firstbreak.engine.check import check
from firstbreak.engine.forecast import forecasts
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.rank import rank
from firstbreak.engine.verdict import judge, link_verdicts
from firstbreak.inputs import Inputs
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
    Run,
    Severity,
    Status,
    Weight,
)
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.smooth import smooth

CAUSES_SHOWN = 5


def diagnose(
    run: Run,
    outcomes: Sequence[Outcome] | None = None,
    *,
    rate_per_hour: float | None = None,
    known: Mapping[str, Sequence[Weight]] = EMPTY,
) -> Diagnosis:
    """What broke first, when, why, and what to do.

    `outcomes` are those of `check(run)`, made here where they are not given. `rate_per_hour` is what an hour of the run
    costs in the user's money. `known` is evidence from elsewhere, by candidate: the answers of experiments.
    """
    outcomes = check(run) if outcomes is None else list(outcomes)
    inputs = Inputs(run)
    ranked = rank(inputs, outcomes, known)
    first_break = find_first_break(outcomes, ranked)
    if first_break is not None:
        first_break = replace(first_break, interval=widened(first_break.interval, run))
    best = best_checkpoint(run, inputs, _dead_since(outcomes))
    links = link_verdicts(run, outcomes, first_break)
    return Diagnosis(
        run=run,
        verdict=judge(inputs, outcomes, ranked, first_break, best, sure=healthy(ranked) <= likelihood.stop_below()),
        first_break=first_break,
        causes=tuple(c for i, c in enumerate(ranked) if i < CAUSES_SHOWN or c.id == HEALTHY),
        outcomes=tuple(outcomes),
        links=links,
        best_checkpoint=best,
        cost=cost_since(run, first_break, rate_per_hour),
        forecasts=forecasts(inputs),
        expected=tuple(dict.fromkeys(o.note for o in outcomes if o.expected)),
    )


def find_first_break(outcomes: Sequence[Outcome], ranked: Sequence[RankedCause]) -> FirstBreak | None:
    """The link of the most probable cause, and the earliest finding that it explains.

    Onset order alone names the wrong link in most cascades, so the link comes from the ranking of causes; the step comes
    from the findings. None where "healthy" is not improbable enough (likelihood.accuse_below) or more probable than any
    one cause, or nothing worse than a notice was found.
    """
    serious = [o for o in outcomes if o.finding is not None and _serious(o.finding)]
    if not serious or healthy(ranked) > likelihood.accuse_below():
        return None
    top = next((c for c in ranked if c.link is not None), None)
    if top is not None and top.probability <= healthy(ranked):
        return None
    link = top.link if top and top.link else min(serious, key=lambda o: o.link.order).link
    explained = {w.finding for w in top.evidence if w.text == "seen"} if top else set()
    seen = [o for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    here = [o for o in seen if o.detector in explained and o.link is link]
    shown = here or [o for o in seen if o.detector in explained] or serious
    finding = min((o.finding for o in shown if o.finding is not None), key=_earliest)
    blind = any(_is_blind(upstream, outcomes) for upstream in Link if upstream.order < link.order)
    return FirstBreak(link=link, or_earlier=blind, metric=finding.metric, step=finding.onset, interval=finding.interval)


def widened(interval: Interval | None, run: Run) -> Interval | None:
    """The interval of the onset, early enough to hold the truth in 95 % of the broken runs of the lab's training split.

    A detector's interval says where its curve broke; the fault may have set in before any curve showed it, and not after.
    What the first record shows may have been so since step 1, unless the record begins in the middle of a run.
    """
    if interval is None or run.first_step is None or run.last_step is None:
        return interval
    margin = likelihood.onset_margin() * (run.last_step - run.first_step)
    start = run.first_step if run.first_step > margin else min(run.first_step, 1.0)
    return max(start, interval[0] - margin), interval[1]


def healthy(ranked: Sequence[RankedCause]) -> float:
    """The probability that nothing is wrong."""
    return next((c.probability for c in ranked if c.id == HEALTHY), 0.0)


def _serious(finding: Finding) -> bool:
    """Worth a verdict: critical, or a warning that is more than a guess."""
    guess = finding.severity is Severity.WARNING and finding.confidence is Confidence.LOW
    return finding.severity is not Severity.NOTICE and not guess


def _earliest(finding: Finding) -> tuple[float, int]:
    return (np.inf if finding.onset is None else finding.onset, -finding.severity.rank)


def _is_blind(link: Link, outcomes: Sequence[Outcome]) -> bool:
    """Nothing of this link could be measured, although it could have been."""
    statuses = {o.status for o in outcomes if o.link is link}
    return not statuses & {Status.OK, Status.FOUND} and bool(statuses & {Status.NOT_MEASURED, Status.CRASHED})


def _dead_since(outcomes: Sequence[Outcome]) -> float | None:
    """The step from which on weights are no numbers: what is saved later is of no use, whatever was scored with it."""
    found = (o.finding for o in outcomes if o.detector == "non-finite-values" and o.finding is not None)
    return next((f.onset for f in found if f.severity is Severity.CRITICAL), None)


def best_checkpoint(run: Run, inputs: Inputs, dead: float | None = None) -> BestCheckpoint | None:
    """Where the score was best (smoothed, so that one lucky evaluation does not win), and the saved model to go back to.

    That is the nearest of those that are as good as the best saved one, within the noise of the score. From the step `dead`
    on nothing counts.
    """
    score, shape = inputs.get("score"), inputs.get("trajectory")
    if score is None or shape is None or not np.isfinite(shape.best_step) or score.name == "sft.likelihood":
        return None  # a training loss is lowest where most is learned by heart
    steps, level = smooth(score)
    end = math.inf if dead is None else dead
    step, value = float(shape.best_step), float(shape.best)
    if step >= end:
        if not np.any(alive := steps < end):
            return None
        k = int(np.argmax(level[alive]))
        step, value = float(steps[k]), float(level[k])
    levels = {c: float(np.interp(c.step, steps, level)) for c in run.checkpoints if c.step < end}
    enough = max(levels.values(), default=0.0) - noise_scale(score.finite.values)
    good = (c for c, reached in levels.items() if reached >= enough)
    saved = min(good, key=lambda c: abs(c.step - step), default=None)
    metric = score.name
    if metric == "eval.likelihood" and value > 0:  # in the unit that was logged
        metric, value = "eval.loss", -math.log(value)
    return BestCheckpoint(step=step, metric=metric, value=value, path=saved.path if saved else None)


def cost_since(run: Run, first_break: FirstBreak | None, rate_per_hour: float | None) -> Cost | None:
    """What the run has spent since the first break: steps, share of the run, hours and money where the log can say."""
    if first_break is None or first_break.step is None or run.last_step is None or run.first_step is None:
        return None
    steps = max(0.0, run.last_step - first_break.step)
    length = run.last_step - run.first_step
    hours = _hours_since(run, first_break.step)
    return Cost(
        steps=steps,
        fraction=steps / length if length > 0 else None,
        hours=hours,
        money=hours * rate_per_hour if hours is not None and rate_per_hour is not None else None,
    )


def _hours_since(run: Run, step: float) -> float | None:
    """Hours between a step and the end, from the elapsed time or the time per step, whichever was logged (in seconds)."""
    elapsed, per_step = run.series.get("time.elapsed"), run.series.get("time.step")
    if elapsed is not None and len(elapsed.finite) > 1:
        clock = elapsed.finite
        return float(max(0.0, clock.values[-1] - np.interp(step, clock.steps, clock.values))) / 3600
    if per_step is not None and len(after := per_step.finite.between(step)):
        return float(after.values.sum()) / 3600
    return None
