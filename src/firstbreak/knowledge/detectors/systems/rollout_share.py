"""The rollout, the wait for it, or single long completions hold up a step.

Looks for: The time of the rollout, and that in which the trainer waits for a batch, as shares of the whole step: their
growth compared with the start of the run, and their level at the end (`high` of the rollout, `high_wait` of the wait).
Where generation takes `tail_high` of a step and more: the longest completion of a batch, compared with the mean. Or
iterations of an on-policy method that bring far fewer environment steps than the configured batch.
Why: The update waits for the slowest rollout, and hardware that waits does nothing. A share that grows says that
completions get longer, tools or environments slower, workers are lost, or a filter drops more and more, before any
learning curve changes. A batch is finished with its longest completion: where it is many times longer than the mean,
most of the engine is idle, and in asynchronous training the long completions arrive last and are the oldest.
False alarm: Generation token by token is slow by nature and takes most of a step in most set-ups, and so does a
simulator on the CPU. In asynchronous training the rollout overlaps with the update, and then its share says little. A
synchronous trainer logs the whole generation as waiting. An engine that fills free slots with other prompts is not
idle.
Fix:
- Compare the longest with the mean completion: if a few long completions hold up the batch, lower {max_new_tokens}, with an
  overlong penalty or mask ({mask_truncated}), resume long completions later, or overlap generation with training.
- Give generation more of the hardware, the inference engine more memory and more concurrent requests, and environments and tools
  a timeout.
- Check what the filters drop: dynamic sampling ({dynamic_sampling}) can need several batches to fill one.
- Allow one more version of staleness ({max_staleness}), if the importance weights stay near 1.
Experiment: Generate one batch with half of {max_new_tokens}: if the time halves, the length is the bottleneck. If not,
double the number of rollout workers for 20 steps: if the wait halves, generation is the reason, else the environment,
the rewards or the filter.
References: https://verl.readthedocs.io/en/latest/perf/perf_tuning.html
https://verl.readthedocs.io/en/latest/advance/fully_async.html https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/2503.14476
"""

from collections.abc import Mapping
from functools import partial

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, most_serious, seen_in, seen_since, warning
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors.systems._shares import share, step_time, takes_over
from firstbreak.model import Confidence, Finding, NotMeasured, Run, Series, Severity
from firstbreak.words import number, percent


def detect(
    time_rollout: Series | None = None,
    time_wait_frac: Series | None = None,
    time_wait_batch: Series | None = None,
    time: Mapping[str, Series] | None = None,
    length_mean: Series | None = None,
    length_max: Series | None = None,
    policy: Policy = Policy.TEXT,
    method: Method | None = None,
    run: Run | None = None,
    *,
    min_increase: float = at(0.2, "share", "Of a step: a fifth more than before."),
    high: float = at(0.75, "share", "Generation is slow: two thirds are usual."),
    high_wait: float = at(0.5, "share", "The trainer is idle for half of its time."),
    max_p_value: float = at(0.01, "probability", "A break that is less probable by chance is certain."),
    tail_ratio: float = at(5.0, "ratio", "Longest over mean completion: most of the engine is idle."),
    tail_growth: float = at(2.0, "ratio", "Twice as long a tail as at the start."),
    tail_high: float = at(0.5, "share", "Where the update dominates the step, the tail costs little."),
    min_points: int = at(12, "points", "Fewer steps show no growth."),
    min_tail: int = at(8, "points", "Fewer steps show no level of the tail."),
    least: float = at(0.7, "share", "of the configured batch: rounding to whole fragments loses less"),
) -> Finding | NotMeasured | str | None:
    batch = run.config.number("batch_size") if run is not None and method is Method.ACTOR_CRITIC else None
    brought = run.series.get("progress.env_steps_iter") if run is not None else None
    if brought is not None and batch and len(brought) >= min_points:
        largest, usual = float(brought.values.max()), median(brought.values)
        if usual < least * batch and (1 - least) * batch < largest <= batch and usual < least * largest:
            return _lost(brought, batch)  # an iteration that is always short has another batch
    judge = partial(takes_over, min_increase=min_increase, max_p_value=max_p_value, min_points=min_points)
    text, supervised, whole = policy is Policy.TEXT, method is Method.SUPERVISED, step_time(time)
    rollout: Finding | NotMeasured | None = NotMeasured("the time of the rollout, or of a step, is not logged")
    tail: Finding | NotMeasured | None = NotMeasured(
        "the largest and the mean length are not logged beside these times"
    )
    if time_rollout is not None and whole is not None and text and length_mean is not None and length_max is not None:
        lengths, taken = share(length_max, length_mean), share(time_rollout, whole)
        tail = _tail(lengths, taken, tail_ratio, tail_growth, tail_high, min_tail)
    if time_rollout is not None and whole is not None and not supervised:
        where = (
            "compare the longest with the mean completion, then check the speed of the inference engine"
            if text
            else "profile a step of the environment, and try more environments side by side"
        )
        rollout = judge(
            share(time_rollout, whole),
            f"the rollout {{taken}} and is its bottleneck; {where}",
            "the rollout takes longer than the step: the two overlap, or are measured differently",
            metric="time.rollout",
            high=high,
        )
    waits = None if time_wait_frac is None else time_wait_frac.finite
    if waits is None and time_wait_batch is not None and whole is not None:
        waits = share(time_wait_batch, whole)
    if waits is None:
        return most_serious(rollout, NotMeasured("the time that the trainer waits for data is not logged"), tail)
    place = "generation, and what the filters drop" if text else "the environments, and the number of rollout workers"
    wait = judge(
        waits,
        f"the time that the trainer waits for data {{taken}}; check the speed of {'the data loader' if supervised else place}",
        "the wait is longer than the step: the wait is counted over several steps or processes",
        metric="time.wait_frac" if time_wait_frac is not None else "time.wait_batch",
        verb="is",
        counted="waits",
        high=high_wait,
    )
    return most_serious(rollout, wait, tail)


def _lost(brought: Series, batch: float) -> Finding:
    """Samples that do not arrive: the workers are slower than the time that they are given."""
    return warning(
        "an iteration brings {brought} environment steps in the median, and the configured batch has {batch}: what slow workers "
        "have sampled is thrown away; compare the time of a rollout with the limit that samples have, and look for lost workers",
        seen_in(brought, "environment steps of an iteration", level=batch),
        brought=facts.median(brought),
        batch=number(batch),
    )


def _tail(
    ratio: Series, rollout: Series, tail_ratio: float, growth: float, high: float, min_points: int
) -> Finding | NotMeasured | None:
    """A few very long completions that hold up every batch."""
    points = min(len(ratio), len(rollout))
    if points < min_points:
        return NotMeasured(f"{points} steps with lengths and times are too few (needs {min_points})")
    late, taken = median(ratio.tail(0.5).values), median(rollout.tail(0.5).values)
    if late < tail_ratio or taken < high:
        return None
    grown = late >= growth * median(ratio.head(0.25).values)
    text, beside = "longest over mean completion", {"share of a step that generation takes": rollout}
    since = first_sustained(ratio, lambda values: values >= tail_ratio)
    return graded(
        Severity.WARNING if grown else Severity.NOTICE,
        f"the longest completion is {number(late)} times the mean{', and this ratio has grown' if grown else ''}, "
        f"and generation takes {percent(taken)} of a step: the step waits for single completions; measure how much "
        "time a length limit at the 95th percentile saves",
        seen_since(ratio, text, since, metric="length.max", level=tail_ratio, beside=beside),
        confidence=Confidence.MEDIUM,
        numbers={"tail": late, "rollout": taken},
    )
