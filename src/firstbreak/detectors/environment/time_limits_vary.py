"""Time limits end episodes at different lengths.

## What it looks for
Episodes that were reported as ended by a time limit although they were shorter than the longest such episode so far: in
at least `most` of the windows.

## Why it matters
A time limit has one length. Where "limits" come earlier, failures are reported as limits: the value after a failure is
bootstrapped, failing costs little, and advantages shrink.

## When it is a false alarm
An environment that really stops at different times for reasons outside the task (a limit in seconds, a random horizon).

## Fix
- Return terminated=True where the task ended, truncated=True only where the clock did.
- Check what wrappers do with `done` and `TimeLimit.truncated`.

## Smallest experiment
Let a policy fail on purpose, and look at the two flags and at `info`.

## References
https://arxiv.org/abs/1712.00378
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(env_limits_early: Series, *, most: float = 0.3, min_points: int = 6) -> Finding | NotMeasured | None:
    curve = env_limits_early.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} windows of transitions are too few (needs {min_points})")
    early = curve.values > 0
    if float(np.mean(early)) < most:
        return None
    first = float(curve.steps[np.flatnonzero(early)[0]])
    return Finding(
        message=(
            f"in {percent(float(np.mean(early)))} of the windows episodes were ended by a time limit before its time "
            f"({number(float(np.mean(curve.values)))} in each): failures are reported as limits; look at both flags"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=first,
        interval=(float(curve.steps[0]), first),
        evidence=(Evidence(text="limits that came early", series=curve, since=first, level=0.0),),
        facts={"share": float(np.mean(early))},
    )
