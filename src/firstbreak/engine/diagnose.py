"""Run and outcomes -> Diagnosis: rank the causes, name the first broken link, say what to do. Reads and writes no file."""

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.engine import facts, likelihood
from firstbreak.engine.detection import check
from firstbreak.engine.forecast import forecasts
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.judgement import dead_since, judge
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.published_settings import tuned
from firstbreak.engine.rank import rank
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.smooth import smooth
from firstbreak.engine.thresholds import Thresholds, changed, for_run
from firstbreak.engine.verdict import GUESS, STOPS, causes_in_question, in_words, link_verdicts
from firstbreak.model import (
    EMPTY,
    BestCheckpoint,
    Cost,
    Diagnosis,
    FirstBreak,
    Interval,
    Outcome,
    RankedCause,
    Role,
    Run,
    Weight,
)
from firstbreak.readers.read import read
from firstbreak.values import replace

CAUSES_SHOWN = 5


def diagnose(
    run: Any,
    outcomes: Sequence[Outcome] | None = None,
    *,
    rate_per_hour: float | None = None,
    known: Mapping[str, Sequence[Weight]] = EMPTY,
    thresholds: Thresholds = EMPTY,
) -> Diagnosis:
    """What broke first, when, why, and what to do, of a run or of what `read` makes one of: a path, with the thresholds that
    hold there, or records in memory.

    `outcomes` are those of `check(run)`; without them, `check(run)` is called. `rate_per_hour` is what an hour of the run
    costs in the user's money. `known` is evidence from elsewhere, by candidate: the answers of experiments. `thresholds`
    sets thresholds of detectors, as {detector: {name: value}}; given `outcomes` were made with them.
    """
    if isinstance(run, str | PathLike):
        thresholds = for_run(Path(run), thresholds)
    if not isinstance(run, Run):
        run = read(run)
    outcomes = check(run, thresholds=thresholds) if outcomes is None else list(outcomes)
    inputs = Inputs(run)
    ranked = rank(inputs, outcomes, known, shown=CAUSES_SHOWN)
    best = best_checkpoint(run, inputs, dead_since(outcomes))
    judged = judge(inputs, outcomes, ranked, best)
    if judged.first_break is not None and not judged.first_break.sudden:
        interval = widened(judged.first_break.interval, run, judged.first_break.metric)
        interval = _after_the_best(interval, judged.first_break, outcomes, best)
        judged = replace(judged, first_break=replace(judged.first_break, interval=interval))
    first_break, verdict = judged.first_break, in_words(judged, inputs, outcomes, ranked, best)
    asked = [*causes_in_question(ranked, first_break), *(c for c in ranked if c.probability >= GUESS)]
    shown = [c for i, c in enumerate(ranked) if i < CAUSES_SHOWN or c.id == HEALTHY]
    if verdict.action in STOPS:
        shown.sort(key=lambda cause: cause.id == HEALTHY)  # what stops a run is not nothing
    return Diagnosis(
        run=run,
        verdict=verdict,
        first_break=first_break,
        causes=tuple(shown),
        outcomes=tuple(outcomes),
        links=link_verdicts(outcomes, first_break, verdict.action, asked if judged.signs else (), known=verdict.known),
        score=judged.score,
        harm=judged.harm,
        best_checkpoint=best,
        cost=cost_since(run, first_break, rate_per_hour),
        forecasts=forecasts(inputs),
        expected=tuple(dict.fromkeys(o.note for o in outcomes if o.expected)),
        thresholds=changed(thresholds),
        tuned=tuned(run),
    )


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
    start = max(first if first > margin else min(first, 1.0), interval[0] - margin)
    logged = run.series[metric].steps if metric is not None and metric in run.series else np.zeros(0)
    before = logged[logged <= start]
    return float(before[-1]) if len(before) else start, interval[1]


def _after_the_best(
    interval: Interval | None, broke: FirstBreak, outcomes: Sequence[Outcome], best: BestCheckpoint | None
) -> Interval | None:
    """A score does not fall before its best step."""
    fell = any(o.detector == broke.detector and Role.SCORE_FELL in o.roles for o in outcomes)
    if interval is None or best is None or broke.step is None or not fell or best.metric != broke.metric:
        return interval
    return min(max(interval[0], best.step), broke.step), interval[1]


def healthy(ranked: Sequence[RankedCause]) -> float:
    """The probability that nothing is wrong."""
    return next((c.probability for c in ranked if c.id == HEALTHY), 0.0)


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
    step, value = float(shape.best_step), facts.best(score, shape).value
    before = dead if step >= end else None
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
    path, at = (saved.path, saved.step) if saved else (None, None)
    return BestCheckpoint(step=step, metric=metric, value=value, path=path, saved=at, before=before)


def cost_since(run: Run, first_break: FirstBreak | None, rate_per_hour: float | None) -> Cost | None:
    """What the run has spent since the first break: steps, share of the run, hours and money where the log can say."""
    if first_break is None or first_break.step is None or (span := _span(run, first_break.metric)) is None:
        return None
    steps = max(0.0, span[1] - first_break.step)
    length = span[1] - span[0]
    hours = _hours_since(run, first_break.step, run.axis_of(first_break.metric))
    money = hours * rate_per_hour if hours is not None and rate_per_hour is not None else None
    return Cost(steps=steps, fraction=steps / length if length > 0 else None, hours=hours, money=money)


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
