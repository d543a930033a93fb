"""Time limits end episodes at different lengths.

## What it looks for
Episodes that were reported as truncated by a time limit, although they were shorter than the longest such episode so far.
A finding needs them in at least `min_share` of the windows.

## Why it matters
A time limit has one length. Where "limits" come earlier, failures are reported as limits. The value after a failure is then
bootstrapped, so that a failure costs little.

## When it is a false alarm
An environment that stops at different times for reasons outside the task (a limit in seconds, a random horizon).

## Fix
- Return terminated=True where the task ended, and truncated=True only where the time limit ended the episode.
- Check what wrappers do with `done` and `TimeLimit.truncated`.

## Smallest experiment
Let a policy fail on purpose, and print the two flags and `info`.

## References
https://arxiv.org/abs/1712.00378
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity, Statistic

FAMILIES = only(Policy.CONTROL)


def detect(
    env_limits_early: Series,
    *,
    min_share: float = at(0.3, "share", "of the windows: a single early limit may have another reason"),
    min_points: int = at(6, "points", "with fewer windows no share is known"),
) -> Finding | NotMeasured | None:
    curve = env_limits_early.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} windows of transitions are too few (needs {min_points})")
    early = curve.values > 0
    if float(np.mean(early)) < min_share:
        return None
    first = float(curve.steps[np.flatnonzero(early)[0]])
    return Finding(
        message=facts.tell(
            "in {share:%} of the windows, episodes were reported as truncated by a time limit before the limit was reached "
            "({each} in each on average): failures are reported as limits; check terminated and truncated",
            share=facts.of(Statistic.ABOVE, curve, 0.0),
            each=facts.mean(curve),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(curve, "time limits that came early", first, (float(curve.steps[0]), first), level=0.0),
        numbers={"share": float(np.mean(early))},
    )
