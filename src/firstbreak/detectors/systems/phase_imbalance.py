"""The trainer waits for data for much of its time.

## What it looks for
The share of a step in which the trainer waits for a batch: its growth against the first half of the run, and its
level at the end.

## Why it matters
Hardware that waits is paid for and does nothing. A wait that grows says that generation falls behind: longer
completions, slower tools, lost workers, or a filter that throws away more and more of what was generated.

## When it is a false alarm
A synchronous trainer logs the whole generation as waiting. A small share is the price of a queue that keeps the data
fresh.

## Fix
- Give generation more of the hardware, or a higher concurrency.
- Look at what the filters drop: dynamic sampling ({dynamic_sampling}) can need several batches to fill one.
- Allow one more version of staleness ({max_staleness}), if the weights stay near 1.

## Smallest experiment
Double the number of rollout workers for 20 steps: a wait that halves was generation; one that stays is the
environment, the scorer or the filter.

## References
https://verl.readthedocs.io/en/latest/advance/fully_async.html
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.detectors.systems._shares import against_past, share, step_time
from firstbreak.model import Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent


def detect(
    time_wait_frac: Series | None = None,
    time_wait_batch: Series | None = None,
    time: Mapping[str, Series] | None = None,
    *,
    growth: float = 0.2,
    most: float = 0.5,
    min_points: int = 12,
) -> Finding | NotMeasured | None:
    if time_wait_frac is not None:
        waits = time_wait_frac.finite
    elif time_wait_batch is not None and (whole := step_time(time)) is not None:
        waits = share(time_wait_batch, whole)
    else:
        return NotMeasured("the time that the trainer waits for data is not logged")
    if len(waits) < min_points:
        return NotMeasured(f"{len(waits)} waits are too few (needs {min_points})")
    level = against_past(waits, growth)
    if level.now > 1:
        return NotMeasured("the wait is longer than the step: it is counted over several steps or processes")
    if not level.grown and level.now < most:
        return None
    how = f"grew from {percent(level.before)} to" if level.grown else "is"
    return Finding(
        message=(
            f"the trainer's wait for data {how} {percent(level.now)} of a step; look at the speed of generation, and "
            "at what the filters drop"
        ),
        severity=Severity.WARNING if level.grown else Severity.NOTICE,
        confidence=level.confidence,
        metric="time.wait_frac" if time_wait_frac is not None else "time.wait_batch",
        onset=level.onset,
        interval=level.interval,
        evidence=(
            Evidence(text=f"{percent(level.now)} of a step", series=waits, since=level.onset, level=level.before),
        ),
        facts={"before": level.before, "now": level.now},
    )
