"""Single updates throw the policy far from where it was.

Looks for: Isolated spikes of a KL divergence (from the reference or from the old policy) that lie `min_size` standard
deviations above their neighbours, and come back within a few steps. And a divergence that jumps to `min_jump` times its
level at once, and stays there.
Why: A spike that comes back did no lasting harm. A jump that stays is another policy. Either shows that one batch can
throw the policy: an outlier in the reward, a few tokens or actions with an extreme log-probability, or a learning rate
that is nearly too large.
False alarm: The k3 estimator of a divergence is heavy-tailed: single tokens make spikes although the policy has hardly
moved. Healthy runs have such spikes, and they count only where they come again and again and the score fell from there.
A mean above `high` nats is more than that: these tokens are e to the fifth times likelier, or more, for one of the two
models, and if the penalty is part of the loss, they decide the whole update.
Fix:
- Do nothing if the score does not follow. If spikes become frequent, check the batch of the largest one.
- Clip gradients ({grad_clip}).
Experiment: Log the largest divergence of a single token or action beside the mean: if the maximum explains the spike,
only a few of them are extreme, and the policy has not moved.
References: http://joschu.net/blog/kl-approx.html
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.changes import Change, changes, for_good
from firstbreak.engine.stats.direction import fell_since
from firstbreak.engine.stats.points import among, median
from firstbreak.engine.stats.spikes import spikes
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity


def detect(
    divergence: Series | None = None,
    kl_old: Series | None = None,
    policy: Policy = Policy.TEXT,
    eval_score: Series | None = None,
    training_score: Series | None = None,
    *,
    min_size: float = at(12.0, "standard deviations", "The k3 estimator is heavy-tailed: smaller spikes are usual."),
    min_jump: float = at(10.0, "ratio", "Between one update and the next: no policy learns so fast."),
    noticeable: float = at(0.05, "nats", "Below this the policy is hardly another one, however large the factor."),
    high: float = at(100.0, "nats", "In a mean this large, single log-probabilities differ by 5 nats or more."),
    tolerance: float = at(1e-6, "nats", "Log-probabilities in float32 differ by this much where nothing has changed."),
    high_again: float = at(2.0, "ratio", "Of a spike to the end of the curve: nearer to it, the curve has climbed."),
    often: float = at(0.05, "share", "One update in twenty, from some step on."),
    min_spikes: int = at(4, "spikes", "Fewer are accidents of single batches."),
    min_points: int = at(30, "points", "Fewer points do not show what is usual."),
) -> Finding | NotMeasured | None:
    curves = [s.finite for s in (divergence, kl_old) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(f"no KL divergence of the policy is logged for {min_points} updates")
    for curve in curves:
        lasting = [c for c in changes(curve, kinds=("level",), log=True) if c.direction > 0 and c.lasting]
        if jump := next((c for c in lasting if _at_once(curve, c, min_jump) and c.after >= noticeable), None):
            return _stayed(curve, jump)
        seen = spikes(curve, size=min_size)
        # one at the very end has not come back yet, nor one that the divergence climbs to again
        end = max(median(curve.tail(0.1).values), float(min(curve.values[-2:])))
        returned = (seen.steps < curve.steps[-3]) & (seen.values > high_again * end)
        for change in lasting:
            returned &= (seen.steps < change.interval[0]) | (seen.steps > change.interval[1])
        up = (seen.sizes > 0) & (seen.values > tolerance) & returned
        if not up.any():
            continue
        steps, values = seen.steps[up], seen.values[up]
        top = int(np.argmax(values))
        spikes_ = f"{len(steps)} spikes" if len(steps) > 1 else "1 spike"
        extreme = bool(values[top] >= high)
        again = for_good(among(curve.steps, steps), often) if len(steps) >= min_spikes else None
        harmful = again is not None and fell_since(float(curve.steps[again]), eval_score, training_score)
        samples = "tokens" if policy is Policy.TEXT else "actions"
        advice = (
            f"a few {samples} with extreme log-probabilities are the reason; check these {samples}, and whether the "
            "penalty follows them"
            if extreme
            else "the score has fallen since they began: lower the learning rate, or strengthen the KL penalty"
            if harmful
            else "check that batch if the score fell at the same time"
        )
        return graded(
            Severity.WARNING if extreme or harmful else Severity.NOTICE,
            "{spikes} of {curve}, the largest {size} at {step}{back}: {advice}",
            seen_since(curve, curve.name, float(steps[0])),
            spikes=spikes_,
            curve=curve.name,
            size=facts.highest(curve.between(float(steps[top]), float(steps[top]))),
            step=facts.at(curve, float(steps[top])),
            back="" if high_again * np.max(curve.values[-3:]) > values[top] else ", that came back",  # high again
            advice=advice,
            confidence=Confidence.LOW if extreme and not harmful else Confidence.MEDIUM,  # of harm: it came back
            numbers={"count": len(steps)},
        )
    return None


def _at_once(curve: Series, jump: Change, min_jump: float) -> bool:
    """Whether one update made most of the jump: a divergence that climbs is that of a policy that learns."""
    at = int(np.searchsorted(curve.steps, jump.step))
    before = np.max(curve.values[max(0, at - 3) : at])
    return jump.ratio >= min_jump and bool(curve.values[at] >= max(np.sqrt(min_jump) * before, jump.after / 2))


def _stayed(curve: Series, jump: Change) -> Finding:
    return warning(
        "{curve} jumped from {before} to {after} at {step} and stayed there: the policy is another one since then; check "
        "that batch and what changed there, then lower the learning rate or strengthen the KL penalty",
        seen_since(curve, curve.name, jump.step, jump.interval, level=jump.after),
        curve=curve.name,
        before=facts.settled(curve, jump.step),
        after=facts.changed(curve, jump.step),
        step=facts.at(curve, jump.step),
        confidence=Confidence.MEDIUM,
        sudden=True,
        numbers={"ratio": jump.ratio},
    )
