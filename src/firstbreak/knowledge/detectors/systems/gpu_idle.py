"""The GPU does nothing most of the time.

## What it looks for
Readings of the use of a GPU over the whole run: a mean below `low`, in both halves of the run. The share of readings below
`idle` says how long it waits. Where several GPUs are read, the one that does least counts.

## Why it matters
The hardware is paid for and waits: for rollouts, for the environment, for scoring, for data. Every other change of the set-up
gains less than to keep it busy.

## When it is a false alarm
A small network whose environment runs on the CPU; a GPU that is reserved for an evaluation or a reward model. Saving and
evaluating leave short gaps only.

## Fix
- Compare the times of the phases of a step: what runs while the GPU waits?
- Overlap generation, scoring and training, or let one GPU do what two take turns at.
- Use a larger {minibatch_size} or more concurrent requests.

## Smallest experiment
Run three steps with a profiler, or with a reading every second, and mark the phases: the phase in which the GPU is at 0 % is
the one to shorten.

## References
https://docs.wandb.ai/guides/models/app/features/system-metrics
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent

FAMILIES = only(Policy.TEXT, why="a simulator on the CPU leaves the GPU of a small network idle by nature")


def detect(
    machine: Mapping[str, list[Series]],
    *,
    low: float = at(35.0, "percent", "Two thirds of the time are lost, saving and evaluating included."),
    idle: float = at(10.0, "percent", "Nothing but the desktop uses so little."),
    min_points: int = at(20, "points", "Fewer readings may have hit the gaps."),
) -> Finding | NotMeasured | None:
    used = [s for s in machine.get("gpu.util", []) if len(s) >= min_points]
    if not used:
        return NotMeasured(f"no use of a GPU is logged for {min_points} points")
    least = min(used, key=lambda s: float(np.mean(s.values)))
    halves = [float(np.mean(half.values)) for half in (least.head(0.5), least.tail(0.5))]
    if max(halves) >= low:
        return None
    waits = float(np.mean(least.values < idle))
    share = f", and below {percent(idle / 100)} in {percent(waits)} of the readings" if waits > 0.1 else ""
    return Finding(
        message=facts.tell(
            "the GPU utilisation is {mean} % in the mean over the run{share}: the GPU is idle while the rest of a step runs; "
            "compare the times of the phases, and overlap the longest with training",
            mean=facts.mean(least),
            share=share,
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        **seen_in(least, "use of the GPU", level=low),
        numbers={"mean": float(np.mean(least.values)), "idle": waits},
    )
