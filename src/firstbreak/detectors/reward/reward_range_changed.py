"""The rewards take other values than before.

## What it looks for
The smallest and the largest reward of each batch, where one of them was constant to the last digit for `settled` of the
batches or more, and lies elsewhere from some step on, in `most` of the batches after it.

## Why it matters
A policy moves rewards between the values that the reward can take; it cannot make it take others. New values mean that
the reward itself was changed: its sign, its scale, a bonus or a penalty, another verifier. What the score does from
that step on compares two different things.

## When it is a false alarm
A planned curriculum of rewards. A first success, which lifts the largest reward from the floor, is not reported; nor is
a largest or smallest reward that was never constant. Where what is logged are returns of whole episodes, a policy that
learns reaches new ones.

## Fix
- Compare the reward code and configuration before and after that step (a resume, a hot reload, a new judge version).
- Score the same completions with both and compare.

## Smallest experiment
Score one saved batch of completions from before that step with the present reward.

## References
https://arxiv.org/abs/2201.03544
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    reward_min: Series | None = None,
    reward_max: Series | None = None,
    writes_text: bool = False,
    *,
    settled: int = 8,
    most: float = 0.6,
    material: float = 0.02,
    min_points: int = 20,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text:
        return NotApplicable("the smallest and the largest return of episodes move with what the policy reaches")
    curves = [s.finite for s in (reward_min, reward_max) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(f"the smallest and the largest reward of a batch are not logged for {min_points} batches")
    room = max(float(c.values.max()) for c in curves) - min(float(c.values.min()) for c in curves)
    seen = [(at, curve) for curve in curves if (at := _left(curve, settled, most, material * room)) is not None]
    if not seen:
        return None
    at, curve = min(seen, key=lambda pair: pair[1].steps[pair[0]])
    before, after = float(curve.values[0]), float(np.median(curve.values[at:]))
    since = float(curve.steps[at])
    return Finding(
        message=(
            f"{curve.name} was {number(before)} in every batch and is {number(after)} from step {number(since)} on: "
            "the reward itself was changed; score one old batch with the present reward and compare"
        ),
        severity=Severity.CRITICAL if before * after < 0 or before == 0 > after else Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=since,
        interval=(float(curve.steps[at - 1]), since),
        evidence=(Evidence(text=curve.name, series=curve, since=since, level=before),),
        facts={"before": before, "after": after},
    )


def _left(curve: Series, settled: int, most: float, material: float) -> int | None:
    """Where a curve that was constant left its value outwards; inwards (fewer extremes seen) is the policy's doing."""
    values = curve.values
    other = np.flatnonzero(values != values[0])
    if not len(other) or other[0] < settled:
        return None
    at = int(other[0])
    outside = values[at:] < values[0] if curve.name.endswith("min") else values[at:] > values[0]
    first_success = curve.name.endswith("max") and values[0] <= 0
    small = abs(float(np.median(values[at:])) - values[0]) < material
    return at if np.mean(outside) >= most and not first_success and not small else None
