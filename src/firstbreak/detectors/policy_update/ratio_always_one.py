"""The ratio to the old policy is exactly 1 though a batch is used several times.

## What it looks for
Divergence to the old policy and clip fraction of exactly 0, or a mean ratio of exactly 1, over most of the run, with more
than one update per batch configured.

## Why it matters
After the first update of a batch the policy has moved, so the ratio must have left 1. Where it has not, the old
log-probabilities are computed again by the policy in training: the clip then bounds nothing, and each pass pushes as if
it were the first.

## When it is a false alarm
One update per batch: the ratio is 1 by construction. A learning rate of 0; a policy that has become certain. A log
that prints three decimals, where a divergence of 0.0004 reads as 0.

## Fix
- Store the log-probabilities when sampling, before any update, and never compute them again within a batch.

## Smallest experiment
Two minibatches with a large {learning_rate}: the ratio of the second must differ from 1.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import percent

ROUNDING = 1e-7
ALIVE, MOSTLY = 3, 0.9  #: updates of an uncertain policy, and the share of them in which it stood still
SILENT = 0.8  #: share of groups without a spread of rewards that leaves nothing to move the policy
CERTAIN = 1e-3  #: nats: a policy that always does the same cannot leave it


def detect(
    config: Config,
    policy_ratio_mean: Series | None = None,
    policy_clip_fraction: Series | None = None,
    kl_old: Series | None = None,
    lr: Series | None = None,
    policy_entropy: Series | None = None,
    silent_groups: Series | None = None,
    *,
    most: float = 0.6,
    min_points: int = 8,
) -> Finding | Expected | NotMeasured | None:
    still = [
        (curve, np.abs(curve.values - (1.0 if curve.name.startswith("policy.ratio") else 0.0)) <= ROUNDING)
        for s in (policy_ratio_mean, kl_old)
        if s is not None and len(curve := s.finite) >= min_points
    ]
    if not still:
        return NotMeasured("neither the ratio nor the divergence to the old policy is logged often enough")
    curve, exact = still[0]
    share = float(np.mean(exact[len(exact) // 2 :]))
    clipped = policy_clip_fraction is not None and bool(np.any(policy_clip_fraction.finite.tail(0.5).values > 0))
    if share < most or clipped:
        return None
    if silent_groups is not None and float(np.mean(silent_groups.finite.tail(0.5).values)) >= SILENT:
        return Expected(f"{curve.name} does not move because nearly all groups have equal rewards")
    updates = config.number("updates_per_batch")
    if updates is not None and updates <= 1:
        return Expected(f"{curve.raw or curve.name} does not move because each batch is used for one update")
    if updates is None or "updates_per_batch" in config.defaulted:
        return NotMeasured("how often a batch is used is not recorded, and with one update the ratio is 1 by right")
    if curve.name.startswith("kl") and policy_entropy is not None and _three_decimals(policy_entropy.finite.values):
        return NotMeasured("the log prints three decimals, and a healthy divergence to the old policy is smaller")
    frozen = lr is not None and not lr.finite.values.any()
    if frozen or not _could_move(curve, exact, policy_entropy):
        return None  # such a policy cannot move: another finding says so
    since = first_sustained(curve, lambda values: np.abs(values - (1.0 if "ratio" in curve.name else 0.0)) <= ROUNDING)
    return Finding(
        message=(
            f"{curve.name} does not move in {percent(share)} of the updates although each batch is used {updates:g} "
            "times: the old log-probabilities are computed again; store them when sampling"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=since,
        interval=None if since is None else (since, since),
        evidence=(Evidence(text=curve.name, series=curve, since=since),),
        facts={"share": share},
    )


def _could_move(curve: Series, exact: np.ndarray, entropy: Series | None) -> bool:
    """Whether the policy stood still while it was still able to move; one that always does the same cannot leave it."""
    if entropy is None or not len(entropy.finite):
        return True
    alive = np.interp(curve.steps, entropy.finite.steps, np.abs(entropy.finite.values)) >= CERTAIN
    return int(np.sum(alive)) >= ALIVE and float(np.mean(exact[alive])) >= MOSTLY


def _three_decimals(values: np.ndarray) -> bool:
    """Whether numbers that are anything in fact were all rounded to thousandths."""
    return (
        len(values) > 0
        and bool(np.all(np.abs(values * 1000 - np.round(values * 1000)) < 1e-9))
        and bool(np.any(values))
    )
