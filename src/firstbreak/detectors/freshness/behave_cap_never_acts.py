"""Behaviour weights pass every usual cap, and none is capped.

## What it looks for
Batches whose largest behaviour importance weight lies beyond `far` times the cap (the recorded one, else `USUAL`): from some
batch on the share of capped weights is exactly 0 in `most` of them, and in `min_far` or more.

## Why it matters
Weights are large where old data has become improbable under today's policy. Without a bound a few tokens carry the
whole batch: the gradient is theirs, and its variance grows with the age of the data.

## When it is a false alarm
Trainers that mask such tokens instead of capping their weights, and log the largest weight before the mask.

## Fix
- Set {behave_weight_cap} to 2 to 5.
- Lower {max_staleness}, so that weights stay near 1.

## Smallest experiment
{behave_weight_cap} = 5 for a tenth of the run, against the same steps without.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._unbound import unbound
from firstbreak.model import Confidence, Config, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

USUAL = 5.0  #: cap where none is recorded


def detect(
    behave_ratio_max: Series,
    behave_ratio_cap_frac: Series,
    config: Config,
    *,
    far: float = 1.2,
    most: float = 0.8,
    min_far: int = 4,
) -> Finding | NotMeasured | None:
    largest, capped = behave_ratio_max.finite, behave_ratio_cap_frac.finite
    if min(len(largest), len(capped)) < min_far:
        return NotMeasured(f"the largest weight and the share of capped ones are not both logged for {min_far} batches")
    cap = config.number("behave_weight_cap") or USUAL
    if (found := unbound(largest, capped, far * cap, most=most, least=min_far)) is None:
        return None
    since, lasting = found
    beyond = largest.values[largest.values > far * cap]
    return Finding(
        message=(
            f"behaviour weights reach {number(float(np.median(beyond)))}, and in {percent(lasting)} of those "
            f"batches none is capped: set a cap of 2 to 5, and lower the age of the data"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=largest.name,
        onset=since,
        interval=(float(largest.steps[0]), since),
        evidence=(
            Evidence(text="largest weight", series=largest, since=since, level=cap),
            Evidence(text="share of capped weights", series=capped),
        ),
        facts={"share": lasting},
    )
