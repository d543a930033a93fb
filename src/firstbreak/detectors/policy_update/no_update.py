"""The policy is not being updated.

## What it looks for
A gradient norm that is exactly 0, or a learning rate of 0, for most of the run.

## Why it matters
Nothing that happens upstream can reach the weights: the run costs as much as a working one and cannot learn.

## When it is a false alarm
The last step of a schedule that decays to 0; a warm-up that starts at 0. Group-relative methods have no gradient in
batches whose groups are all silent: the break is then in the groups.

## Fix
- Check {learning_rate} and its schedule, which parameters require gradients, and whether the optimiser holds them.
- With adapters: check that the adapter is the part that trains, and that it reaches the inference engine.

## Smallest experiment
Compare a hash of the weights before and after one update: if equal, the break is between loss and optimiser.

## References
https://github.com/verl-project/verl/issues/7495
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import percent


def detect(
    grad_norm: Series | None = None,
    lr: Series | None = None,
    silent_groups: Series | None = None,
    *,
    most: float = 0.8,
    min_points: int = 5,
) -> Finding | Expected | NotMeasured | None:
    shown = [s.finite for s in (grad_norm, lr) if s is not None and len(s.finite) >= min_points]
    if not shown:
        return NotMeasured(f"no gradient norm or learning rate is logged for {min_points} updates")
    for curve in shown:
        body = curve.values[:-1] if len(curve) > min_points else curve.values  # a schedule may end at 0
        share = float(np.mean(body == 0))
        if share < most:
            continue
        since = first_sustained(curve, lambda values: values == 0)
        if (
            curve.name == "grad.norm"
            and silent_groups is not None
            and float(np.mean(silent_groups.finite.values)) >= most
        ):
            return Expected(
                f"{curve.name} is 0 in {percent(share)} of the updates because all groups have equal rewards"
            )
        return Finding(
            message=(
                f"{curve.name} is exactly 0 in {percent(share)} of the updates: nothing reaches the weights; compare the "
                "weights before and after an update"
            ),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            metric=curve.name,
            onset=since,
            interval=None if since is None else (since, since),
            evidence=(Evidence(text=curve.name, series=curve, since=since, level=0.0),),
        )
    return None
