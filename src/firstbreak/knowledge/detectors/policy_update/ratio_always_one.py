"""The ratio to the old policy is exactly 1 though a batch is used several times.

Looks for: A KL divergence from the old policy and a clip fraction of exactly 0, or a mean ratio of exactly 1, in a
share of `min_share` of the second half of the run, although more than one update per batch is configured. Where a
control policy's own script does not log how often a batch is used, both must be 0 in `min_share_unconfigured` of all
updates.
Why: After the first update on a batch the policy has moved, so the ratio must differ from 1. If it does not, the old
log-probabilities are computed again by the policy in training. Then the clip bounds nothing, and each pass updates the
policy as if it were the first.
False alarm: One update per batch: the ratio is 1 by construction. A learning rate of 0. An entropy that stays where it
was as well: then the policy does not move, and `no-update` says so. A policy that has become certain. A log that prints
three decimals, in which a KL divergence of 0.0004 reads as 0.
Fix:
- Store the log-probabilities when sampling, before any update, and never compute them again within a batch.
Experiment: Two minibatches with a large {learning_rate}: the ratio of the second one must differ from 1.
References: https://arxiv.org/abs/1707.06347
"""

import numpy as np

from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.knowledge.detectors._updates import OWN, recorded_updates, without_effect
from firstbreak.model import Confidence, Config, Expected, Finding, NotMeasured, Role, Run, Series
from firstbreak.words import percent, quoted

ROLES = (Role.RELATION,)


def detect(
    run: Run,
    config: Config,
    policy_ratio_mean: Series | None = None,
    policy_clip_fraction: Series | None = None,
    kl_old: Series | None = None,
    lr: Series | None = None,
    policy_entropy: Series | None = None,
    zero_variance_groups: Series | None = None,
    grad_norm: Series | None = None,
    value_loss: Series | None = None,
    policy: Policy = Policy.TEXT,
    *,
    min_share: float = at(0.6, "share", "In most updates of the second half nothing moves."),
    min_share_unconfigured: float = at(0.99, "share", "How often a batch is used is not known, so all must agree."),
    tolerance: float = at(1e-7, "nats or ratio", "Smaller differences are rounding."),
    min_zero_variance_share: float = at(0.8, "share", "So many zero-variance groups hardly move the policy."),
    min_entropy: float = at(1e-3, "nats", "A policy that always does the same cannot move away from itself."),
    min_uncertain_points: int = at(3, "points", "Updates in which the policy was still able to move."),
    min_uncertain_share: float = at(0.9, "share", "Nearly all updates of a policy that could move must show none."),
    min_points: int = at(8, "points", "Fewer updates show no pattern."),
) -> Finding | Expected | NotMeasured | None:
    still = [
        (curve, np.abs(curve.values - (1.0 if curve.name.startswith("policy.ratio") else 0.0)) <= tolerance)
        for s in (policy_ratio_mean, kl_old)
        if s is not None and len(curve := s.finite) >= min_points
    ]
    if not still:
        return NotMeasured("neither the ratio nor the KL divergence from the old policy is logged often enough")
    curve, exact = still[0]
    share = float(np.mean(exact[len(exact) // 2 :]))
    clipped = policy_clip_fraction is not None and bool(np.any(policy_clip_fraction.finite.tail(0.5).values > 0))
    if share < min_share or clipped:
        return None
    if (
        zero_variance_groups is not None
        and float(np.mean(zero_variance_groups.finite.tail(0.5).values)) >= min_zero_variance_share
    ):
        return Expected(f"{curve.name} does not move because the rewards within nearly every group are equal")
    if config.number("updates_per_batch") == 1:
        return Expected(f"{quoted(curve.raw or curve.name)} does not move because each batch is used for one update")
    updates = recorded_updates(config)
    assumed = (
        updates is None
        and policy is Policy.CONTROL
        and run.trainer in OWN
        and policy_clip_fraction is not None
        and float(np.mean(exact)) >= min_share_unconfigured
        and not policy_clip_fraction.finite.values.any()
    )
    if updates is None and not assumed:
        return NotMeasured("how often a batch is used is not recorded, and with one update the ratio is always 1")
    if curve.name.startswith("kl") and policy_entropy is not None and _three_decimals(policy_entropy.finite.values):
        return NotMeasured("the log prints three decimals, and a healthy KL divergence from the old policy is smaller")
    shows = [s for s in (policy_entropy, value_loss if run.trainer in OWN else None) if s is not None]
    if kl_old is not None and without_effect(run, kl_old.finite, shows, grad_norm, lr, policy) is not None:
        return None  # nothing of the policy moves: `no-update` tells of it
    if lr is not None and not lr.finite.values.any():
        return None  # such a policy cannot move: another finding says so
    if policy_entropy is not None and len(policy_entropy.finite):  # nor can one that always does the same
        entropy = policy_entropy.finite
        uncertain = np.interp(curve.steps, entropy.steps, np.abs(entropy.values)) >= min_entropy
        if np.sum(uncertain) < min_uncertain_points or np.mean(exact[uncertain]) < min_uncertain_share:
            return None
    since = first_sustained(curve, lambda values: np.abs(values - (1.0 if "ratio" in curve.name else 0.0)) <= tolerance)
    return warning(
        _said(curve, exact, share, None if assumed else updates),
        seen_since(curve, curve.name, since),
        confidence=Confidence.MEDIUM if assumed else Confidence.HIGH,
        numbers={"share": share},
    )


def _said(curve: Series, exact: np.ndarray, share: float, updates: float | None) -> str:
    """`updates`: how often each batch is used, None where it is not recorded."""
    again = "the old log-probabilities are computed again; store them when sampling"
    if updates is None:
        still_for = percent(float(np.mean(exact)))
        often = f"{quoted(curve.raw or curve.name)} does not move and nothing is clipped in {still_for} of the updates"
        return f"{often}: if each batch is used more than once, {again}"
    often = f"{curve.name} does not move in {percent(share)} of the updates of the second half"
    return f"{often}, although each batch is used {updates:g} times: {again}"


def _three_decimals(values: np.ndarray) -> bool:
    """Whether numbers that are anything in fact were all rounded to thousandths."""
    return (
        len(values) > 0
        and bool(np.all(np.abs(values * 1000 - np.round(values * 1000)) < 1e-9))
        and bool(np.any(values))
    )
