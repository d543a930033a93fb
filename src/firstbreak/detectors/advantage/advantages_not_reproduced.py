"""The advantages are not those of the recorded rewards, values and ends.

## What it looks for
The relative distance of the trainer's advantages from the same estimate, worked out again from the rewards, values and
episode ends that the environment reported: more than `tolerance` in most batches from some batch on, without being the
same with the other sign.

## Why it matters
A done mask that is missing or a step off, values of the wrong state, returns of another environment: the advantages lose
their meaning long before the return shows it.

## When it is a false alarm
Another estimator than generalised advantages on purpose (V-trace, reward shaping inside the estimate).

## Fix
- Multiply the bootstrap value by 1 - terminated, at the right index.
- Compare the advantages of one short episode with a sum by hand.

## Smallest experiment
Compute the advantages of a hand-made buffer with an end in the middle, and compare with pencil and paper.

## References
https://arxiv.org/abs/1506.02438
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import percent


def detect(
    advantage_error: Series,
    advantage_turned: Series | None = None,
    *,
    tolerance: float = 0.02,
    most: float = 0.7,
    min_points: int = 3,
) -> Finding | NotMeasured | None:
    error = advantage_error.finite
    if len(error) < min_points:
        return NotMeasured(f"{len(error)} batches are too few (needs {min_points})")
    step = first_sustained(error, lambda values: values > tolerance, min_points)
    if step is None or float(np.mean(error.between(step).values > tolerance)) < most:
        return None
    if advantage_turned is not None and float(np.median(advantage_turned.finite.between(step).values)) > most:
        return None  # advantages-turned-round says so
    before = error.steps[error.steps < step]
    size = float(np.median(error.between(step).values))
    return Finding(
        message=(
            f"the advantages are {percent(size)} away from those of the recorded rewards, values and ends, from step "
            f"{step:g} on: look at the done mask, and work out one short episode by hand"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=error.name,
        onset=step,
        interval=(float(before[-1]) if len(before) else step, step),
        evidence=(Evidence(text="distance of the advantages", series=error, since=step, level=0.0),),
        facts={"error": size},
    )
