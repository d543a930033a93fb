"""Memory peaks come and go at the steps that are slow.

## What it looks for
Stretches in which the GPU memory in use is higher than at the steps around them by `min_rise`, and comes back: at least
`min_peaks` of them, which are slower than the others or come at a regular interval.

## Why it matters
Something beside the training takes memory and time: a checkpoint that is copied, a merge, an upload, an evaluation on the
same device. It fits today. When lengths have grown, one of the peaks is an out-of-memory error.

## When it is a false alarm
Evaluation and saving ({eval_interval}, {save_interval}) that are planned. Batches with the longest completions take more
memory and more time.

## Fix
- Find the job that runs at these steps: saving, merging, uploading, evaluation.
- Move it to another machine or device, or let it wait for the end of a step.

## Smallest experiment
Run three of these intervals with saving, uploading and evaluation off: if the peaks are gone, turn them on one by one.

## References
https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.stats.spikes import period
from firstbreak.knowledge.detectors.systems._shares import step_time, times_as_large
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    machine: Mapping[str, list[Series]],
    time: Mapping[str, Series] | None = None,
    *,
    min_rise: float = at(0.05, "share", "Of the memory that is usual: less is a longer batch."),
    min_size: float = at(6.0, "standard deviations", "Of the memory at the usual steps: a peak stands out."),
    max_share: float = at(0.4, "share", "Peaks are the exception among the steps."),
    min_slower: float = at(1.1, "ratio", "What takes memory beside the training takes time."),
    per_step: float = at(2.0, "steps", "What comes back in every step is one of its phases."),
    min_peaks: int = at(3, "peaks", "Fewer can be chance."),
    min_points: int = at(20, "points", "Fewer readings do not show what is usual."),
) -> Finding | NotMeasured | None:
    readings = [s for s in machine.get("memory.gpu", []) if len(s) >= min_points]
    if not readings:
        return NotMeasured(f"no memory of a GPU is logged for {min_points} points")
    memory = readings[0]  # the trainer's own, where it logs one
    usual = float(np.median(memory.values))
    calm = memory.values <= (1 + min_rise) * usual
    spread = float(np.std(memory.values[calm]))
    high = memory.values > usual + max(min_rise * usual, min_size * spread)
    starts = memory.steps[high & ~np.concatenate([[False], high[:-1]])]
    if len(starts) < min_peaks or float(np.mean(high)) > max_share:
        return None
    clock = step_time(time)
    slower = 0.0 if clock is None else times_as_large(clock, memory.steps[high])
    every = period(starts)
    if (slower < min_slower and not every) or (every is not None and every < per_step):
        return None  # the phases of a step take turns
    job = _job(time or {}, memory.steps[high])
    rise = float(np.median(memory.values[high])) - usual
    rhythm = f", every {number(every)} steps" if every else ""
    beside = f", and these steps take {number(slower)} times as long" if slower >= min_slower else ""
    return Finding(
        message=(
            f"the GPU memory rises by {number(rise)} GB {len(starts)} times and comes back{rhythm}{beside}: "
            + (
                f"{job} at these steps takes memory and time from the training; do it from another process or device, or free "
                "what it copies"
                if job
                else "a background job (checkpoint, merge, upload, evaluation) competes with the training; find what runs at "
                "these steps"
            )
        ),
        severity=Severity.WARNING if job and slower >= min_slower else Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        **seen_since(memory, f"{len(starts)} peaks", float(starts[0]), level=usual),
        numbers={"gb": rise, "every": every, "slower": slower},
    )


def _job(time: Mapping[str, Series], at: np.ndarray) -> str:
    """What is logged at most of these steps and at few others; empty where nothing is."""
    for phase, said in (
        ("save", "saving a checkpoint"),
        ("upload", "an upload"),
        ("merge", "a merge"),
        ("eval", "evaluating"),
    ):
        logged = time.get(phase)
        steps = logged.steps[logged.values > 0] if logged is not None else np.empty(0)
        if len(steps) and np.mean(np.isin(np.floor(at), steps)) > 0.7 and np.mean(np.isin(steps, np.floor(at))) > 0.7:
            return said
    return ""
