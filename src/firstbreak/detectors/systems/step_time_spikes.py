"""Single steps take many times as long as the others.

## What it looks for
Steps, or stretches of steps, that take several times as long as their quick neighbours and then end; the share of the
whole time that they cost; and whether they come at regular intervals: a background job has a period.

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

from collections.abc import Mapping

import numpy as np

from firstbreak.detectors.systems._shares import step_time
from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.spikes import period
from firstbreak.words import number, percent

PLANNED = {"save_interval": "saving", "eval_interval": "evaluating"}
NEIGHBOURS = 61  #: points among which the quick quarter says what is usual


def detect(
    config: Config,
    time: Mapping[str, Series] | None = None,
    *,
    slow: float = 2.0,
    few: int = 3,
    cost: float = 0.05,
    heavy: float = 0.25,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    clock = step_time(time)
    if clock is None or len(clock) <= min_points:
        return NotMeasured(f"the time of a step is not logged for more than {min_points} steps")
    times = clock.between(clock.steps[1])  # the first step compiles
    usual = _usual(times.values)
    late = _slow(times.values, usual, slow)
    starts = times.steps[late & ~np.concatenate([[False], late[:-1]])]
    lost = float(np.sum((times.values - usual)[late]) / max(np.sum(times.values), 1e-12))
    if len(starts) < few or lost < cost or np.mean(late) > 0.5:  # where most steps are slow, the quick ones are odd
        return None
    every = period(starts)
    job = next((what for name, what in PLANNED.items() if _same(every, config.number(name))), None)
    if job:
        return Expected(f"every {number(every)} steps one step is slow: it is {job}, {percent(lost)} of the time")
    times_as_long = float(np.median(times.values[late] / usual[late]))
    rhythm = f", every {number(every)} steps" if every else ""
    advice = "name the job that runs at that period" if every else "look for the slowest worker of those steps"
    return Finding(
        message=(
            f"{int(late.sum())} steps take {number(times_as_long)} times as long as the others{rhythm}, "
            f"{percent(lost)} of the time; {advice}"
        ),
        severity=Severity.WARNING if every and lost >= heavy else Severity.NOTICE,
        confidence=Confidence.HIGH if every else Confidence.MEDIUM,
        metric=clock.name,
        onset=float(starts[0]),
        interval=(float(starts[0]), float(starts[0])),
        evidence=(Evidence(text=f"{int(late.sum())} slow steps", series=clock, since=float(starts[0])),),
        facts={"lost": lost, "every": every},
    )


def _usual(times: np.ndarray) -> np.ndarray:
    """What a step takes when nothing disturbs it: the lower quartile of its neighbours, so that half of them may be slow."""
    half = min(NEIGHBOURS, len(times)) // 2
    padded = np.concatenate([np.full(half, np.nan), times, np.full(half, np.nan)])
    return np.asarray(np.nanquantile(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), 0.25, axis=1))


def _slow(times: np.ndarray, usual: np.ndarray, factor: float) -> np.ndarray:
    """Steps that take `factor` times the usual, or four noise units longer where steps vary more than that.

    The noise is read off the quick side, between the 10th and the 25th percentile, which no disturbance reaches.
    """
    ratio = np.log(np.maximum(times, 1e-12) / np.maximum(usual, 1e-12))
    low, quarter = np.quantile(ratio, [0.1, 0.25])
    noise = (quarter - low) / 0.607
    return np.asarray(ratio > max(np.log(factor), 4 * noise))


def _same(period: float | None, planned: float | None) -> bool:
    """The slow steps have the planned period, or a multiple of it that the log resolves."""
    if not period or not planned:
        return False
    ratio = max(period, planned) / min(period, planned)
    return abs(ratio - round(ratio)) < 0.05
