"""The very first update already sees data of another policy.

## What it looks for
The ratio and the divergence between the policy and itself before the update, at the first logged steps. With one
optimizer step per batch they are 1 and 0 by identity, at every learning rate. With a few steps they lie close to it;
with many, or an unknown number, only a drastic first value tells.

## Why it matters
At the first step nothing has been learned that could explain a difference. Log-probabilities are computed differently
when sampling and when training (temperature, top-p, masks, positions, dropout, precision), or the first batch was
made by other weights. The same error is in every later step, under everything that training adds.

## When it is a false alarm
The first point is a mean over several updates of a policy with no warm-up: Adam's first steps are its largest. Then
the value falls back within a few steps; here the first three points count, not the first.

## Fix
- Score with the {temperature} and {top_p} that were used for sampling.
- Turn off dropout in both passes; use the same padding side and positions.
- Store the log-probability that was sampled, before any clipping of the action.
- Check that the first batch was generated after the weights were loaded.

## Smallest experiment
One batch with {learning_rate} 0: the largest |ratio - 1| must be below 0.0001. Regress the trainer's
log-probabilities on the sampler's: a slope other than 1 is a temperature, single outliers are masks or token ids.

## References
https://github.com/huggingface/trl/issues/4159
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number

FIRST = 3  #: points; a mean over several updates has its largest value at the first
EXACT = 5e-3  #: rounding and nondeterministic kernels
STEP = 0.02  #: nats, or share of the ratio, by which one optimizer step may move the policy


def detect(
    config: Config,
    family: str | None = None,
    policy_ratio_mean: Series | None = None,
    kl_old: Series | None = None,
    first_ratio: Series | None = None,
    *,
    drastic: float = 0.5,
) -> Finding | NotApplicable | NotMeasured | None:
    if family in ("value_based", "preference"):
        return NotApplicable("no ratio to an old policy in this kind of training")
    if first_ratio is not None and len(first_ratio) >= FIRST:  # measured before any step: no step size can excuse it
        return _apart(first_ratio, drastic)
    recorded = [
        (s, perfect)
        for s, perfect in ((policy_ratio_mean, 1.0), (kl_old, 0.0))
        if s is not None and len(s.finite) >= FIRST
    ]
    if not recorded:
        return NotMeasured(f"neither the ratio nor the divergence to the old policy has {FIRST} points")
    updates = config.number("updates_per_batch")
    curve, perfect = max(recorded, key=lambda pair: abs(_first(pair[0]) - pair[1]))
    value, step = _first(curve), float(curve.finite.steps[0])
    off = abs(value - perfect)
    if off <= (EXACT if updates == 1 else min(drastic, STEP * updates) if updates else drastic):
        return None
    certain = updates == 1 and "updates_per_batch" not in config.defaulted
    return Finding(
        message=(
            f"{curve.name} is {number(value)} from the first step on, where it {'must' if updates == 1 else 'should'} "
            f"be {number(perfect)}: the first data are not those of this policy; run one batch with a learning rate "
            "of 0 and compare the log-probabilities of sampler and trainer"
        ),
        severity=Severity.CRITICAL if off > drastic and certain else Severity.WARNING,
        confidence=Confidence.HIGH if certain else Confidence.LOW,
        metric=curve.name,
        onset=step,
        interval=(step, step),
        evidence=(Evidence(text=f"{number(value)} at the first steps", series=curve, level=perfect),),
        facts={"off": off, "updates": updates},
    )


def _apart(curve: Series, drastic: float) -> Finding | None:
    off, step = _first(curve), float(curve.steps[0])
    if off <= EXACT:
        return None
    return Finding(
        message=(
            f"{curve.name} is {number(off)} from the first step on, before anything was learned, where it must be 0: "
            "sampler and trainer compute different log-probabilities; run one batch with a learning rate of 0 and "
            "compare them"
        ),
        severity=Severity.CRITICAL if off > drastic / 10 else Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=step,
        interval=(step, step),
        evidence=(Evidence(text=f"{number(off)} at the first steps", series=curve, level=0.0),),
        facts={"off": off, "updates": 1},
    )


def _first(curve: Series) -> float:
    return float(np.median(curve.finite.values[:FIRST]))
