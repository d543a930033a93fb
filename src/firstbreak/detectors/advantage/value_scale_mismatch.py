"""The critic's values live on another scale than the returns.

## What it looks for
Mean value against mean return over the second half of the run: their difference, measured in units of the return's
own size, stays above `apart`.

## Why it matters
A critic that is far from the returns makes every advantage of one sign. The policy then raises or lowers everything
it does, instead of telling good from bad.

## When it is a false alarm
Values and returns normalised in different ways in the log. Returns close to 0, where a ratio means little.

## Fix
- Normalise rewards or returns; start the critic's last layer at the mean return.
- Raise the critic's learning rate; check clipping of values.

## Smallest experiment
Fit the critic alone on one frozen batch: its mean must reach the mean return within some hundred steps.

## References
https://arxiv.org/abs/1602.07714
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    value_mean: Series, returns_mean: Series, *, apart: float = 0.8, min_points: int = 10
) -> Finding | NotMeasured | None:
    values, returns = value_mean.finite.tail(0.5), returns_mean.finite.tail(0.5)
    if min(len(values), len(returns)) < min_points:
        return NotMeasured(
            f"{min(len(values), len(returns))} points are too few to compare scales (needs {min_points})"
        )
    target = np.interp(values.steps, returns.steps, returns.values)
    size = float(np.median(np.abs(target)))
    gap = np.abs(values.values - target)
    if size == 0 or size < np.std(target) or np.median(gap) < apart * size:
        return None
    return Finding(
        message=(
            f"values are {number(float(np.median(values.values)))} where returns are "
            f"{number(float(np.median(target)))}: the critic is off by its whole scale, so advantages have one sign; "
            "normalise returns"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric="value.mean",
        onset=float(values.steps[0]),
        interval=(float(value_mean.steps[0]), float(values.steps[0])),
        evidence=(Evidence(text="values", series=value_mean), Evidence(text="returns", series=returns_mean)),
    )
