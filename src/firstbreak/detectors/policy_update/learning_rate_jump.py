"""The learning rate jumps up in mid-run.

## What it looks for
The logged learning rate, which rises to `times` its value or more within a few updates, after the warm-up.

## Why it matters
Schedules fall. A rate that jumps up is a restart that lost its schedule, a resumed optimiser with new settings, a scale
factor that was applied twice, and every update from there on is that many times as large.

## When it is a false alarm
Cyclic schedules and warm restarts, by plan; a warm-up, which rises from 0 over many updates, is not reported.

## Fix
- Compare the schedule's step counter before and after the restart.
- Go back to the checkpoint before the jump, and resume with the old rate.

## Smallest experiment
Resume from before the jump with the old rate for 20 steps: divergence per update and score must stay on their course.

## References
https://arxiv.org/abs/1608.03983
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    lr: Series,
    *,
    times: float = 3.0,
    within: int = 2,
    settled: int = 8,
) -> Finding | NotMeasured | None:
    rates = lr.finite
    if len(rates) < 2 * settled:
        return NotMeasured(f"{len(rates)} learning rates are too few (needs {2 * settled})")
    values = rates.values
    before, after = values[settled:-within], values[settled + within :]
    jumps = np.flatnonzero((before > 0) & (after >= times * before))
    if not len(jumps):
        return None
    step = np.argmax(values[settled + jumps[0] + 1 : settled + jumps[0] + within + 1] > values[settled + jumps[0]])
    at = settled + int(jumps[0]) + 1 + int(step)
    since, was, now = float(rates.steps[at]), float(values[at - 1]), float(np.max(values[at : at + within]))
    return Finding(
        message=(
            f"the learning rate went from {number(was)} to {number(now)} at step {number(since)}: look whether a "
            "restart lost the schedule, and resume from before it with the old rate"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="lr",
        onset=since,
        interval=(float(rates.steps[at - 1]), since),
        evidence=(Evidence(text="learning rate", series=rates, since=since),),
        facts={"times": now / was if was > 0 else np.inf},
    )
