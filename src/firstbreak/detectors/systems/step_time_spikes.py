"""Single steps take many times as long as the others.

## What it looks for
Steps that stand out from their neighbours in time, the share of the whole time that they cost, and whether they come
at regular intervals: a background job has a period.

## Why it matters
A checkpoint upload, a model merge, an evaluation or another tenant of the machine competes for memory and bandwidth.
Memory peaks at the same steps, so the run that is only slow today runs out of memory tomorrow.

## When it is a false alarm
Evaluation ({eval_interval}) and saving ({save_interval}) that the step's clock includes: spikes with their period are
explained. The first step compiles and warms up caches.

## Fix
- Name what runs at that period: compare it with the intervals of saving, evaluation, logging and uploading.
- Move it off the training machine, or do it asynchronously.
- Where the spikes are irregular, look for stragglers: the slowest rollout or worker of those steps.

## Smallest experiment
Run 3 periods with saving, uploading and evaluation off: if the spikes are gone, turn them on one by one.

## References
https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.smooth import running_median
from firstbreak.stats.spikes import spikes
from firstbreak.words import number, percent

PLANNED = {"save_interval": "saving", "eval_interval": "evaluating"}


def detect(
    config: Config,
    time_step: Series | None = None,
    time_iteration: Series | None = None,
    *,
    cost: float = 0.05,
    heavy: float = 0.25,
    few: int = 3,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    clock = time_step if time_step is not None else time_iteration
    if clock is None or len(clock.finite) < min_points:
        return NotMeasured(f"the time of a step is not logged for {min_points} steps")
    times = clock.finite.between(clock.finite.steps[1])  # the first step compiles
    slow = spikes(times)
    up = slow.sizes > 0
    usual = running_median(times.values, 9)
    excess = (times.values - usual)[np.isin(times.steps, slow.steps[up])]
    lost = float(np.sum(excess) / max(np.sum(times.values), 1e-12))
    if up.sum() < few or lost < cost:
        return None
    job = next((what for name, what in PLANNED.items() if _same(slow.every, config.number(name))), None)
    if job:
        return Expected(f"every {number(slow.every)} steps one step is slow: it is {job}, {percent(lost)} of the time")
    rhythm = f", every {number(slow.every)} steps" if slow.every else ""
    advice = "name the job that runs at that period" if slow.every else "look for the slowest worker of those steps"
    first, times_as_long = float(slow.steps[up][0]), float(np.median(slow.values[up]) / np.median(usual))
    return Finding(
        message=(
            f"{int(up.sum())} steps take {number(times_as_long)} times as long as the others{rhythm}, {percent(lost)} of "
            f"the time; {advice}"
        ),
        severity=Severity.WARNING if lost >= heavy else Severity.NOTICE,
        confidence=Confidence.HIGH if slow.every else Confidence.MEDIUM,
        metric=clock.name,
        onset=first,
        interval=(first, first),
        evidence=(
            Evidence(text=f"{int(up.sum())} slow steps", series=clock, since=first, level=float(np.median(usual))),
        ),
        facts={"lost": lost, "every": slow.every},
    )


def _same(period: float | None, planned: float | None) -> bool:
    """The spikes have the planned period, or a multiple of it that the log resolves."""
    if not period or not planned:
        return False
    ratio = max(period, planned) / min(period, planned)
    return abs(ratio - round(ratio)) < 0.05
