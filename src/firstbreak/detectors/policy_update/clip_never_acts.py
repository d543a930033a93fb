"""Ratios leave the clip range, and nothing is clipped.

## What it looks for
Updates in which the largest ratio to the old policy lies beyond `far` times the clip range: from some step on the clip
fraction is exactly 0 in `most` of them, and in `min_far` or more.

## Why it matters
PPO's bound on the step is the clip. Where ratios pass it and nothing is clipped, there is no bound: the clip range is
missing, was set to a number that never acts, or is applied to something else. A batch that is used many times then
drags the policy as far as the optimiser goes.

## When it is a false alarm
Objectives that bound the ratio in another way (a KL penalty, a trust region, GSPO's sequence ratios with their tiny
ranges) and log a clip fraction of 0.

## Fix
- Print {clip_range} as the loss receives it, and the share of ratios outside it.
- Clip from both sides; add the dual clip for negative advantages.

## Smallest experiment
A unit test: for a positive advantage and a ratio above 1 + {clip_range}, the gradient of the loss is 0.

## References
https://arxiv.org/abs/1707.06347
https://github.com/openai/spinningup/issues/315
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._unbound import unbound
from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent

USUAL = 0.2  #: half-width of the clip where none is recorded


def detect(
    policy_clip_fraction: Series,
    config: Config,
    family: str | None = None,
    policy_ratio_max: Series | None = None,
    *,
    far: float = 2.0,
    most: float = 0.8,
    min_far: int = 4,
    min_points: int = 12,
) -> Finding | NotApplicable | NotMeasured | None:
    if family in ("value_based", "preference"):
        return NotApplicable("no ratio to an old policy in this kind of training")
    clipped, largest = policy_clip_fraction.finite, policy_ratio_max.finite if policy_ratio_max is not None else None
    if largest is None or min(len(clipped), len(largest)) < min_points:
        return NotMeasured(f"the largest ratio and the clip fraction are not both logged for {min_points} updates")
    width = config.number("clip_range_high") or config.number("clip_range") or USUAL
    limit = 1 + far * width
    if (found := unbound(largest, clipped, limit, most=most, least=min_far)) is None:
        return None
    since, share = found
    beyond = largest.between(since).values
    return Finding(
        message=(
            f"ratios reach {number(float(np.median(beyond[beyond > limit])))} with a clip range "
            f"of {number(width)}, and in {percent(share)} of those updates nothing is clipped: the clip does not act; "
            "print the range that the loss receives"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="policy.clip_fraction",
        onset=since,
        interval=(since, since),
        evidence=(
            Evidence(text="largest ratio", series=largest, since=since, level=1 + width),
            Evidence(text="clip fraction", series=clipped, since=since),
        ),
        facts={"share": share},
    )
