"""The very first update already sees data of another policy.

Looks for: The ratio and the KL divergence between the policy and itself before the update, at the first logged steps.
With one optimizer step per batch they are 1 and 0 by identity, with every learning rate. With a few steps they are
close to these values. With many steps, or an unknown number, only a first value that is far away counts.
Why: At the first step nothing has been learned that could explain a difference. Either log-probabilities are computed
differently when sampling and when training (temperature, top-p, masks, positions, dropout, precision), or the first
batch was made by other weights. The same error is part of every later step.
False alarm: The first point is a mean over several updates of a policy without warm-up: the first steps of Adam are its
largest. Then the value falls back within a few steps, and for this reason the first `first_points` points count, not
the first alone.
Fix:
- Compute log-probabilities with the {temperature} and {top_p} of sampling.
- Turn off dropout in both passes, and use the same padding side and positions.
- Store the log-probability that was sampled, before any clipping of the action.
- Check that the first batch was generated after the weights were loaded.
Experiment: One batch with {learning_rate} 0: the largest |ratio - 1| must be below 0.0001. Fit a line through the
log-probabilities of trainer and sampler: a slope other than 1 is a temperature, and single outliers are masks or token
ids.
References: https://github.com/huggingface/trl/issues/4159
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/ https://arxiv.org/abs/1707.06347
"""

from collections.abc import Sequence

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, graded, seen_in
from firstbreak.engine.families import Method, without
from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)
FAMILIES = without(Method.VALUE_BASED, Method.PREFERENCE, why="no ratio to an old policy in this kind of training")


def detect(
    config: Config,
    policy_ratio_mean: Series | None = None,
    kl_old: Series | None = None,
    first_ratio: Series | None = None,
    proof_ratio_first: Series | None = None,
    lr: Series | None = None,
    *,
    tolerance: float = at(5e-3, "nats or ratio", "Rounding and nondeterministic kernels."),
    clear: float = at(0.02, "nats or ratio", "Less has many explanations: a second minibatch, a mean over tokens."),
    tolerance_per_update: float = at(0.02, "nats or ratio", "How far one optimizer step may move the policy."),
    deviation_critical: float = at(0.5, "nats or ratio", "No healthy first update is this far away."),
    first_ratio_critical: float = at(0.05, "ratio", "Before any step nothing can excuse a difference of this size."),
    first_points: int = at(3, "points", "A mean over several updates is largest at the first point."),
) -> Finding | NotApplicable | NotMeasured | None:
    if first_ratio is not None and len(first_ratio) >= first_points:  # before any step: no step size can excuse it
        return _apart(first_ratio, tolerance, first_ratio_critical, first_points)
    if (
        proof_ratio_first is not None
        and len(proof_ratio_first.finite)
        and proof_ratio_first.finite.values[0] <= tolerance
    ):
        return None  # measured before any step; curves may be means over the steps of an update
    recorded = [
        (s, perfect)
        for s, perfect in ((policy_ratio_mean, 1.0), (kl_old, 0.0))
        if s is not None and len(s.finite) >= first_points
    ]
    if not recorded:
        return NotMeasured(f"neither the ratio nor the KL divergence from the old policy has {first_points} points")
    if lr is not None and (found := _without_updates(recorded, lr.finite, tolerance_per_update, first_points)):
        return found
    updates = config.number("updates_per_batch")
    curve, perfect = max(recorded, key=lambda pair: abs(_first(pair[0], first_points) - pair[1]))
    value, step = _first(curve, first_points), float(curve.finite.steps[0])
    off = abs(value - perfect)
    several = min(deviation_critical, tolerance_per_update * updates) if updates else deviation_critical
    if off <= (tolerance if updates == 1 else several):
        return None
    certain = updates == 1 and "updates_per_batch" not in config.defaulted and off > clear
    return graded(
        Severity.CRITICAL if off > deviation_critical and certain else Severity.WARNING,
        "{curve} is {value} at the first steps, and {must} be {perfect}: the first data do not come from this policy; run "
        "one batch with a learning rate of 0, and compare the log-probabilities of sampler and trainer",
        seen_in(curve, f"{number(value)} at the first steps", step, level=perfect),
        curve=curve.name,
        value=facts.median(curve.finite.head(first_points / len(curve.finite))),
        must="must" if updates == 1 else "should",
        perfect=number(perfect),
        confidence=Confidence.HIGH if certain else Confidence.LOW,
        numbers={"off": off, "updates": updates},
    )


def _without_updates(recorded: Sequence[tuple[Series, float]], lr: Series, limit: float, points: int) -> Finding | None:
    """A policy that differs from itself while the learning rate is 0: nothing but the computation can differ."""
    moving = np.flatnonzero(lr.values != 0)
    until = float(lr.steps[moving[0]]) if len(moving) else np.inf
    for curve, perfect in recorded:
        still = curve.finite.between(-np.inf, np.nextafter(until, -np.inf))
        if not len(lr) or len(still) < points or not np.all(np.abs(still.values - perfect) > limit):
            continue
        return critical(
            "{curve} is {value} while the learning rate is 0, and must be {perfect}: sampler and trainer compute different "
            "log-probabilities, or run other weights; compare the log-probabilities of one batch",
            seen_in(curve, "without an update", float(still.steps[0]), level=perfect),
            curve=curve.name,
            value=facts.median(still),
            perfect=number(perfect),
            numbers={"off": float(np.median(still.values)) - perfect, "updates": 0},
        )
    return None


def _apart(curve: Series, tolerance: float, first_ratio_critical: float, first_points: int) -> Finding | None:
    off, step = _first(curve, first_points), float(curve.steps[0])
    if off <= tolerance:
        return None
    return graded(
        Severity.CRITICAL if off > first_ratio_critical else Severity.WARNING,
        "{curve} is {off} at the first steps, before anything was learned, and must be 0: sampler and trainer compute "
        "different log-probabilities; run one batch with a learning rate of 0, and compare these log-probabilities",
        seen_in(curve, f"{number(off)} at the first steps", step, level=0.0),
        curve=curve.name,
        off=facts.median(curve.head(first_points / len(curve))),
        numbers={"off": off, "updates": 1},
    )


def _first(curve: Series, first_points: int) -> float:
    return float(np.median(curve.finite.values[:first_points]))
