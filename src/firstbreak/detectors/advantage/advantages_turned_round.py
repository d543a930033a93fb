"""The advantages have the wrong sign.

## What it looks for
The share of the trainer's advantages that are minus those worked out again from the recorded rewards, values and ends:
more than `most` from some batch on.

## Why it matters
Everything else is right, and the policy is taught to do what was worse than expected.

## When it is a false alarm
None known: an advantage is what was better than expected.

## Fix
- Look for a minus too many between the advantage and the loss, or a cost that is taken for a reward.

## Smallest experiment
One batch with one action that earns 1 and one that earns 0: after the update, the first has to be more probable.

## References
https://arxiv.org/abs/1506.02438
"""

from __future__ import annotations

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import percent


def detect(advantage_turned: Series, *, most: float = 0.9, min_points: int = 3) -> Finding | NotMeasured | None:
    turned = advantage_turned.finite
    if len(turned) < min_points:
        return NotMeasured(f"{len(turned)} batches are too few (needs {min_points})")
    step = first_sustained(turned, lambda values: values > most, min_points)
    if step is None:
        return None
    before = turned.steps[turned.steps < step]
    return Finding(
        message=(
            f"{percent(float(turned.between(step).values.mean()))} of the advantages have the wrong sign from step "
            f"{step:g} on: look for a minus too many between rewards and loss"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=turned.name,
        onset=step,
        interval=(float(before[-1]) if len(before) else step, step),
        evidence=(Evidence(text="advantages with the wrong sign", series=turned, since=step, level=0.0),),
    )
