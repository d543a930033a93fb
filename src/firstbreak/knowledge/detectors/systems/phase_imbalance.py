"""The trainer waits for data for much of its time.

## What it looks for
The share of a step in which the trainer waits for a batch: its growth compared with the start of the run, and its level at
the end.

## Why it matters
Hardware that waits costs money and does nothing. A wait that grows says that generation becomes too slow: longer
completions, slower tools or environments, lost workers, or a filter that drops more and more of what was generated.

## When it is a false alarm
A synchronous trainer logs the whole generation as waiting. A small share is the cost of a queue that keeps the data
fresh.

## Fix
- Give generation more of the hardware, or a higher concurrency.
- Check what the filters drop: dynamic sampling ({dynamic_sampling}) can need several batches to fill one.
- Allow one more version of staleness ({max_staleness}), if the importance weights stay near 1.

## Smallest experiment
Double the number of rollout workers for 20 steps: if the wait halves, generation was the reason. If the wait stays, the
reason is the environment, the reward function or the filter.

## References
https://verl.readthedocs.io/en/latest/advance/fully_async.html
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.engine.checks import at
from firstbreak.engine.families import Method, Policy
from firstbreak.knowledge.detectors.systems._shares import share, step_time, takes_over
from firstbreak.model import Finding, NotMeasured, Series


def detect(
    time_wait_frac: Series | None = None,
    time_wait_batch: Series | None = None,
    time: Mapping[str, Series] | None = None,
    policy: Policy = Policy.TEXT,
    method: Method | None = None,
    *,
    min_increase: float = at(0.2, "share", "Of a step: a fifth more than before."),
    high: float = at(0.5, "share", "The trainer is idle for half of its time."),
    max_p_value: float = at(0.01, "probability", "A break that is less probable by chance is certain."),
    min_points: int = at(12, "points", "Fewer steps show no growth."),
) -> Finding | NotMeasured | None:
    if time_wait_frac is not None:
        waits = time_wait_frac.finite
    elif time_wait_batch is not None and (whole := step_time(time)) is not None:
        waits = share(time_wait_batch, whole)
    else:
        return NotMeasured("the time that the trainer waits for data is not logged")
    return takes_over(
        waits,
        f"the time that the trainer waits for data {{taken}}; check {_slow_place(policy, method)}",
        "the wait is longer than the step: the wait is counted over several steps or processes",
        metric="time.wait_frac" if time_wait_frac is not None else "time.wait_batch",
        verb="is",
        counted="waits",
        high=high,
        min_increase=min_increase,
        max_p_value=max_p_value,
        min_points=min_points,
    )


def _slow_place(policy: Policy, method: Method | None) -> str:
    """What to check first where data come late."""
    if method is Method.SUPERVISED:
        return "the speed of the data loader"
    if policy is Policy.TEXT:
        return "the speed of generation, and what the filters drop"
    return "the speed of the environments, and the number of rollout workers"
