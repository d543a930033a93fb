"""Ratios leave the clip range, and nothing is clipped.

## What it looks for
Updates in which the largest ratio to the old policy lies more than `min_excess` clip ranges above 1. From some step on,
the clip fraction is exactly 0 in a share of `min_share` of these updates. There must be `min_points_beyond` of them.

## Why it matters
The clip is PPO's bound on the size of an update. If ratios pass the clip range and nothing is clipped, there is no
bound: the clip range is missing, is too large to act, or is applied to something else. A batch that is used many times
then moves the policy as far as the optimizer goes.

## When it is a false alarm
The objective bounds the ratio in another way (a KL penalty, a trust region, GSPO's ratios of sequences with their small
ranges), and the trainer logs a clip fraction of 0.

## Fix
- Print {clip_range} as the loss receives it, and the share of ratios outside this range.
- Clip on both sides, and add the dual clip for negative advantages.

## Smallest experiment
A unit test: for a positive advantage and a ratio above 1 + {clip_range}, the gradient of the loss is 0.

## References
https://arxiv.org/abs/1707.06347
https://github.com/openai/spinningup/issues/315
"""

from __future__ import annotations

from typing import Annotated

from firstbreak.diagnosis import facts
from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.detectors._unbound import unbound
from firstbreak.diagnosis.families import Method, without
from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent

FAMILIES = without(
    Method.VALUE_BASED,
    Method.PREFERENCE,
    Method.SUPERVISED,
    why="no ratio to an old policy in this kind of training",
)


def detect(
    policy_clip_fraction: Series,
    config: Config,
    policy_ratio_max: Series | None = None,
    *,
    default_clip_range: Annotated[
        float,
        Threshold(
            unit="ratio",
            reason="The half-width that is assumed where none is recorded: the default of PPO.",
            source="stable_baselines3/ppo/ppo.py",
        ),
    ] = 0.2,
    min_excess: Annotated[
        float,
        Threshold(
            unit="clip ranges",
            reason="A ratio just outside the clip range proves nothing yet.",
            source="convention",
        ),
    ] = 2.0,
    min_share: Annotated[
        float,
        Threshold(unit="share", reason="A clip that acts more often than that exists.", source="convention"),
    ] = 0.8,
    min_points_beyond: Annotated[
        int, Threshold(unit="points", reason="Fewer ratios outside the range may be chance.", source="convention")
    ] = 4,
    min_points: Annotated[
        int, Threshold(unit="points", reason="Fewer updates show no pattern.", source="convention")
    ] = 12,
) -> Finding | NotApplicable | NotMeasured | None:
    clipped, largest = policy_clip_fraction.finite, policy_ratio_max.finite if policy_ratio_max is not None else None
    if largest is None or min(len(clipped), len(largest)) < min_points:
        return NotMeasured(f"the largest ratio and the clip fraction are not both logged for {min_points} updates")
    width = config.number("clip_range_high") or config.number("clip_range") or default_clip_range
    limit = 1 + min_excess * width
    found = unbound(largest, clipped, limit, min_share=min_share, min_points_beyond=min_points_beyond)
    if found is None:
        return None
    since, share = found
    return Finding(
        message=facts.tell(
            "ratios reach {top} with a clip range of {width}, and in {share} of the updates that pass it nothing is clipped: "
            "the clip does not act; print the clip range that the loss receives",
            top=facts.highest(largest.between(since)),
            width=number(width),
            share=percent(share),
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
