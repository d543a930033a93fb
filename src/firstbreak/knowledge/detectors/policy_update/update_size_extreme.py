"""A policy update is too large in a few values, or repeats old gradients.

Looks for: Logs and pasted tables with fewer than `few` values of a curve, in which nothing can be said of a course.
Absolute levels speak there: the median of the KL divergence per update is above `max_divergence`, of the clip fraction
above `max_clipped`, or of the ratio outside 1 / `max_ratio` to `max_ratio`.

Also, a logged norm of the gradient before the backward pass that is not 0 in nearly all updates, and grows more than `carried`
times: a gradient that is not set to 0 is added to that of the next batch, so that every update repeats all before it. The
norm itself shows the same where it grows in proportion to the number of updates, and hardly scatters: that of one batch does.
Why: The ratio of a clipped update lies near 1, and its KL divergence between 0.001 and 0.1. Beyond these levels the
data were not made by the policy that is updated, or one update throws it away.
False alarm: The values are sums over whole completions, and not means over tokens. Among the healthy runs of the lab
(114 with a clip fraction, 99 with a ratio), no three values in a row are so large.

Gradients of several batches may be added on purpose: their norm does not grow from update to update.
Fix:
- Compare the log-probabilities of the first minibatch with those of the sampler: their difference must be 0.
- Lower {learning_rate}, {epochs_per_batch} or {minibatches}.
- Call optimizer.zero_grad() before each backward pass.
- Log every update: the course says whether it began so.
Experiment: One update with {epochs_per_batch} and {minibatches} of 1: the ratio is exactly 1 and the KL divergence
exactly 0, or the log-probabilities are not those of the policy that sampled.
References: https://arxiv.org/abs/1707.06347 https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_in, seen_since
from firstbreak.engine.families import Method, without
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Role, Run, Series, Severity
from firstbreak.patterns import pattern

ROLES = (Role.RELATION,)
FAMILIES = without(Method.SUPERVISED, Method.PREFERENCE)
BEFORE = pattern(r"before.?backward|after.?zero.?grad", re.IGNORECASE)
PROPORTION = 0.75  #: power of the number of updates, at least, and at most one over it (convention)
SURE = 3  #: values that are no slip of one batch (convention)


def detect(
    run: Run,
    kl_old: Series | None = None,
    policy_clip_fraction: Series | None = None,
    policy_ratio_mean: Series | None = None,
    grad_norm: Series | None = None,
    *,
    few: int = at(10, "points", "From so many values on, their course is judged."),
    max_divergence: float = at(1.0, "nats", "Ten times what counts as far in a course."),
    max_clipped: float = at(0.9, "share", "Hardly any sample has a gradient left."),
    max_ratio: float = at(10.0, "ratio", "Clips lie between 0.7 and 1.4."),
    carried: float = at(10.0, "ratio", "Gradients of so many batches are hardly added on purpose without a change."),
    scatter: float = at(0.1, "share", "From one value to the next; norms of single batches scatter by more."),
) -> Finding | NotApplicable | NotMeasured | None:
    left = (s.finite for name, s in (*run.series.items(), *run.unknown.items()) if BEFORE.search(s.raw or name))
    if (before := next((s for s in left if len(s) >= few), None)) is not None and (summed := _summed(before, carried)):
        return summed
    if grad_norm is not None and (piled := _piled(grad_norm.finite, carried, scatter)):
        return piled
    asked: list[tuple[str, Series | None, float, float]] = [
        # a mean of log-ratios, as most trainers of language models log it, may be a little below 0
        ("the KL divergence per update is {size} nats", kl_old, -max_divergence, max_divergence),
        ("{size:%} of the samples are clipped", policy_clip_fraction, 0.0, max_clipped),
        ("the probability ratio is {size}", policy_ratio_mean, 1 / max_ratio, max_ratio),
    ]
    logged = [
        (said, curve.finite, low, high) for said, curve, low, high in asked if curve is not None and len(curve.finite)
    ]
    if not logged:
        return NotMeasured("log the KL divergence of an update, its clip fraction or its ratio")
    short = [one for one in logged if len(one[1]) < few]
    if not short:
        return NotApplicable(f"{few} values or more: their course is judged")
    for said, curve, low, high in short:
        size = facts.median(curve)
        if low <= size.value <= high:
            continue
        sure = len(curve) >= SURE
        return graded(
            Severity.CRITICAL if sure else Severity.WARNING,
            "{said} in the {n} values that are logged: no update may be so large; check first that the old "
            "log-probabilities are those of the policy that sampled, then lower the learning rate",
            seen_since(curve, "size of an update", float(curve.steps[0]), level=high),
            said=facts.tell(said, size=size),
            n=facts.count(curve),
            confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
            numbers={"level": size.value},
        )
    return None


def _summed(before: Series, carried: float) -> Finding | None:
    """The gradient that is left before a batch is that of all batches so far."""
    there = before.values > 0
    if there.mean() < 0.9 or median(before.tail(0.5).values) < carried * float(before.values[there][0]):
        return None
    late = facts.median(before.tail(0.5))
    return _not_zeroed(
        before, facts.tell("before the backward pass is {late} in the second half, and not 0", late=late)
    )


def _piled(norms: Series, carried: float, scatter: float) -> Finding | None:
    """The norm of the sum of all gradients so far: it grows by about one gradient in every update."""
    if len(norms) < 2 * carried or norms.values.min() <= 0:
        return None
    log, updates = np.log(norms.values), np.log(np.arange(1, len(norms) + 1))
    steps = np.diff(log - updates)[2:]  # 0 where the norm is proportional to the number of updates
    slope = float(np.polyfit(updates, log, 1)[0])
    if not (PROPORTION < slope < 1 / PROPORTION and np.ptp(log) > np.log(carried) and np.std(steps) < scatter):
        return None
    late = facts.median(norms.tail(0.25))
    how = facts.tell("grows in proportion to the number of updates ({late} in the last quarter)", late=late)
    return _not_zeroed(norms, how, Severity.WARNING)


def _not_zeroed(norms: Series, how: str, severity: Severity = Severity.CRITICAL) -> Finding:
    return graded(
        severity,
        "the norm of the gradient {how}: gradients are never set to 0, so that each update repeats all before it; call "
        "optimizer.zero_grad()",
        seen_in(norms, "norm of the gradient", level=0.0),
        how=how,
    )
