"""Sampled tokens have log-probabilities that no sampler would ever draw.

## What it looks for
The smallest log-probability of the batch, over the second half of the run, against what sampling can produce; and the
mean log-probability, against that of a uniform choice from a large vocabulary.

## Why it matters
Among a million sampled tokens the rarest has a probability near one in a million: about -14. A token at -30 was not
drawn from the policy that scores it: another temperature, a mask that lets padding or tool output into the loss, text
that was tokenised again, or -inf logits. Their ratios and gradients dominate the update.

## When it is a false alarm
The text was written by another policy on purpose (demonstrations, replayed data, tool output that is masked later).

## Fix
- Print the ten tokens with the smallest log-probability and where they stand: they name the mask or the template.
- Feed the sampled token ids to the trainer, not text that is tokenised again.
- Score with the {temperature} and {top_p} of sampling; leave observations and padding out of the mask.

## Smallest experiment
Score one freshly generated batch before any update: the smallest log-probability must agree with the engine's own.

## References
https://github.com/huggingface/trl/issues/5224
https://arxiv.org/abs/2510.26788
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number


def detect(
    writes_text: bool,
    policy_logp_min: Series | None = None,
    behave_logp_min: Series | None = None,
    policy_logp_mean: Series | None = None,
    *,
    never: float = -30.0,
    uniform: float = -9.0,
    min_points: int = 4,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text:
        return NotApplicable("actions are not tokens: a density may take any value")
    candidates = ((policy_logp_min, never), (behave_logp_min, never), (policy_logp_mean, uniform))
    recorded = [(s, limit) for s, limit in candidates if s is not None and len(s.finite) >= min_points]
    if not recorded:
        return NotMeasured(f"no log-probability of sampled tokens is logged for {min_points} steps")
    extreme = [(s, limit) for s, limit in recorded if _late(s) < limit]
    if not extreme:
        return None
    curve, limit = extreme[0]
    onset = first_sustained(curve, lambda values: values < limit)
    what = "this policy would never draw such a token" if limit == never else "a random choice would do as well"
    return Finding(
        message=(
            f"{curve.name} is {number(_late(curve))} over the second half: {what}; print the ten least probable tokens "
            "and where they stand"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if len(extreme) > 1 else Confidence.MEDIUM,
        metric=curve.name,
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=tuple(Evidence(text=s.name, series=s, since=onset, level=at) for s, at in extreme),
        facts={"logp": _late(curve)},
    )


def _late(curve: Series) -> float:
    return float(np.median(curve.finite.tail(0.5).values))
