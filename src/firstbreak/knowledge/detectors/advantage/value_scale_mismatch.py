"""The critic's values have another scale than the returns.

## What it looks for
The difference of mean value and mean return over the second half of the run, divided by the size of the returns: above
`min_gap`.

## Why it matters
If the values are far from the returns, every advantage has the same sign. The policy then makes everything that it does
more probable, or everything less probable, and cannot tell good from bad.

## When it is a false alarm
Values and returns that are normalised differently in the log. Returns close to 0, where a ratio says little.

## Fix
- Normalise rewards or returns; start the last layer of the critic at the mean return.
- Raise the critic's learning rate; check the clipping of values.

## Smallest experiment
Train the critic alone on one frozen batch: its mean must reach the mean return within some hundred steps.

## References
https://arxiv.org/abs/1602.07714
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at
from firstbreak.engine.families import Method
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity


def detect(
    value_mean: Series,
    returns_mean: Series,
    method: Method | None = None,
    *,
    min_gap: float = at(0.8, "share", "A critic that lags behind the returns is nearer to them than this."),
    min_points: int = at(10, "points", "Fewer points do not show more than the start of the critic."),
) -> Finding | NotMeasured | None:
    values, returns = value_mean.finite.tail(0.5), returns_mean.finite.tail(0.5)
    if min(len(values), len(returns)) < min_points:
        return NotMeasured(
            f"{min(len(values), len(returns))} points are too few to compare scales (needs {min_points})"
        )
    target = np.interp(values.steps, returns.steps, returns.values)
    size = float(np.median(np.abs(target)))
    gap = np.abs(values.values - target)
    if size == 0 or size < np.std(target) or np.median(gap) < min_gap * size:
        return None
    bootstrapped = method is Method.VALUE_BASED
    harm = "its targets are wrong too" if bootstrapped else "all advantages have the same sign"
    return Finding(
        message=facts.tell(
            "values are {values} where returns are {returns}: the critic has the wrong scale, so {harm}; normalise rewards or "
            "returns",
            values=facts.median(values),
            returns=facts.median(returns),
            harm=harm,
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric="value.mean",
        onset=float(values.steps[0]),
        interval=(float(value_mean.steps[0]), float(values.steps[0])),
        evidence=(Evidence(text="values", series=value_mean), Evidence(text="returns", series=returns_mean)),
    )
