"""Ratios leave the clip range, and nothing is clipped.

Looks for: Updates in which the largest ratio to the old policy lies more than `min_excess` clip ranges above 1, or the
divergence from it is larger than ratios so far from 1 allow. From some step on, the clip fraction is exactly 0 in a
share of `min_share` of these updates. There must be `min_points_beyond` of them.

Ratios have the mean 1. If all of them lie within 1 - w and 1 + w, then the divergence is at most w^2 / 2: 0.02 nats for 0.2.
Why: The clip is PPO's bound on the size of an update. If ratios pass the clip range and nothing is clipped, there is no
bound: the clip range is missing, is too large to act, or is applied to something else. A batch that is used many times
then moves the policy as far as the optimizer goes.
False alarm: The objective bounds the ratio in another way (a KL penalty, a trust region, GSPO's ratios of sequences
with their small ranges), and the trainer logs a clip fraction of 0.
Fix:
- Print {clip_range} as the loss receives it, and the share of ratios outside this range.
- Clip on both sides, and add the dual clip for negative advantages.
Experiment: A unit test: for a positive advantage and a ratio above 1 + {clip_range}, the gradient of the loss is 0.
References: https://arxiv.org/abs/1707.06347 https://github.com/openai/spinningup/issues/315
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Method, without
from firstbreak.knowledge.detectors._unbound import unbound
from firstbreak.model import Config, Finding, NotApplicable, NotMeasured, Role, Series
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)
FAMILIES = without(
    Method.VALUE_BASED, Method.PREFERENCE, Method.SUPERVISED, why="no ratio to an old policy in this kind of training"
)


def detect(
    policy_clip_fraction: Series,
    config: Config,
    policy_ratio_max: Series | None = None,
    kl_old: Series | None = None,
    *,
    default_clip_range: float = at(0.2, "ratio", "PPO's default, where none is recorded.", "Stable-Baselines3"),
    min_excess: float = at(2.0, "clip ranges", "A ratio just outside the clip range proves nothing yet."),
    min_share: float = at(0.8, "share", "A clip that acts more often than that exists."),
    min_points_beyond: int = at(4, "points", "Fewer ratios outside the range may be chance."),
    min_points: int = at(12, "points", "Fewer updates show no pattern."),
) -> Finding | NotApplicable | NotMeasured | None:
    clipped = policy_clip_fraction.finite
    cap = config.recorded("behave_weight_cap")
    if cap is not None and config.recorded("clip_range") is None and config.recorded("clip_range_high") is None:
        return NotApplicable(f"the weights of old samples are cut at {number(cap)}, and no clip range is recorded")
    width = config.number("clip_range_high") or config.number("clip_range") or default_clip_range
    beyond = min_excess * width
    #: what tells how far ratios go, and how far it may go
    reaches = [(policy_ratio_max, 1 + beyond, 1 + width), (kl_old, beyond**2 / 2, width**2 / 2)]
    logged = [(s.finite, limit, level) for s, limit, level in reaches if s is not None and len(s.finite) >= min_points]
    if len(clipped) < min_points or not logged:
        return NotMeasured(
            f"the clip fraction, and the largest ratio or the KL divergence per update, are not logged for {min_points} updates"
        )
    for reach, limit, level in logged:
        found = unbound(reach, clipped, limit, min_share=min_share, min_points_beyond=min_points_beyond)
        if found is None:
            continue
        since, share = found
        far = "ratios reach {top}" if reach.name == "policy.ratio.max" else "updates move the policy by {top} nats"
        along = {"clip fraction": clipped}
        return warning(
            far + " with a clip range of {width}, and in {share} of the updates that pass it nothing is clipped: "
            "the clip does not act; print the clip range that the loss receives",
            seen_since(reach, "how far the ratios go", since, metric="policy.clip_fraction", level=level, along=along),
            top=facts.highest(reach.between(since)),
            width=number(width),
            share=percent(share),
            numbers={"share": share},
        )
    return None
