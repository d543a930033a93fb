"""Single updates throw the policy far from where it was.

## What it looks for
Isolated spikes of a divergence (to the reference or to the old policy), many noise units above their neighbourhood,
that come back within a few steps.

## Why it matters
A spike that recovers did no lasting harm, but it shows that one batch can throw the policy: an outlier in the reward,
a few tokens with an extreme log-probability, or a learning rate at the edge.

## When it is a false alarm
The k3 estimator of a divergence is heavy-tailed: single tokens make spikes without any real move. Healthy runs have
them. A mean above `absurd` nats is more than that: those tokens were e to the fifth and more likelier to one of the
two models, and with a penalty in the loss they are all that the update sees.

## Fix
- Nothing, if the score does not follow. Look at the batch of the largest spike if they become frequent.
- Clip gradients ({grad_clip}).

## Smallest experiment
Log the largest per-token divergence beside its mean: if the maximum explains the spike, it is a few tokens, not the
policy.

## References
http://joschu.net/blog/kl-approx.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.spikes import spikes
from firstbreak.words import number

ROUNDING = 1e-6  #: nats: what float32 log-probabilities differ by where nothing has changed


def detect(
    kl_ref: Series | None = None,
    kl_old: Series | None = None,
    *,
    size: float = 12.0,
    absurd: float = 100.0,
    min_points: int = 30,
) -> Finding | NotMeasured | None:
    curves = [s.finite for s in (kl_ref, kl_old) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(f"no divergence of the policy is logged for {min_points} updates")
    for curve in curves:
        seen = spikes(curve, size=size)
        returned = seen.steps < curve.steps[-3]  # one at the very end has not come back yet
        up = (seen.sizes > 0) & (seen.values > ROUNDING) & returned
        if not up.any():
            continue
        steps, values = seen.steps[up], seen.values[up]
        top = int(np.argmax(values))
        spikes_ = f"{len(steps)} spikes" if len(steps) > 1 else "1 spike"
        extreme = bool(values[top] >= absurd)
        advice = (
            "a few tokens with extreme log-probabilities made it; look at them, and whether the penalty follows them"
            if extreme
            else "look at that batch if the score fell with it"
        )
        return Finding(
            message=(
                f"{spikes_} of {curve.name}, the largest {number(float(values[top]))} at step "
                f"{number(float(steps[top]))}, that came back: {advice}"
            ),
            severity=Severity.WARNING if extreme else Severity.NOTICE,
            confidence=Confidence.LOW if extreme else Confidence.MEDIUM,  # of harm: it came back
            metric=curve.name,
            onset=float(steps[0]),
            interval=(float(steps[0]), float(steps[0])),
            evidence=(Evidence(text=curve.name, series=curve, since=float(steps[0])),),
            facts={"count": len(steps)},
        )
    return None
