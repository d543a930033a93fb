"""Tiny differences of reward become advantages of full size.

Looks for: Zero-variance groups disappear from one batch to the next (their share was above `min_share` and is exactly 0
from then on), although no filter was switched on and the spread of the rewards did not grow. Or the mean spread within
groups is below `max_spread` of the range of the rewards, while the advantages are of full size. Or the largest
advantages of group-relative training are beyond what a group and its rewards can give: a reward is at most sqrt(n) standard
deviations of its group away from the mean, so that what is larger was divided by nearly nothing.
Why: A group whose rewards are equal should teach nothing. Divided by its own tiny spread (a tie-breaker, a rounding
error, noise of a judge), the group teaches at full strength, and what it teaches is noise.
False alarm: Dynamic sampling that drops zero-variance groups has a share of 0 from the first batch on.
Fix:
- Add a constant of about a hundredth of the range of the reward to the divisor, or do not divide ({scale_rewards} off).
- Round rewards before the advantage is computed, or drop groups whose spread is below a limit.
Experiment: Compute the advantages of one batch again with a constant of 0.01 in the divisor: most of them must become
nearly 0.
References: https://arxiv.org/abs/2503.20783
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, seen_in, seen_since
from firstbreak.engine.families import Method
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Series, Severity
from firstbreak.words import number

LARGEST_GROUP = 1024  #: completions, where the size of a group is not recorded
FAR = 10.0  #: times what a group can give, or the rewards: other estimators add a baseline (convention)
MIN_BEYOND = 3  #: rows
SOME = 0.05  #: of the rows


def detect(
    reward_zero_std_frac: Series | None = None,
    reward_group_std: Series | None = None,
    advantage_abs_mean: Series | None = None,
    reward_min: Series | None = None,
    reward_max: Series | None = None,
    advantage_max: Series | None = None,
    advantage_min: Series | None = None,
    reward_mean: Series | None = None,
    method: Method | None = None,
    config: Config | None = None,
    *,
    min_share: float = at(0.02, "share", "Fewer zero-variance groups can be absent from a batch by chance."),
    max_spread: float = at(0.005, "share", "In shares of the range, a real difference between two rewards is larger."),
    min_advantage: float = at(0.3, "advantage", "Smaller advantages show that the divisor holds a constant."),
    min_points: int = at(16, "points", "Fewer batches do not show a level before and a level after."),
) -> Finding | NotMeasured | None:
    if method is Method.GROUP_RELATIVE and reward_mean is not None and config is not None:
        largest = (s.finite for s in (advantage_max, advantage_min) if s is not None)
        ends = (_beyond(curve, reward_mean.finite, config.number("group_size") or LARGEST_GROUP) for curve in largest)
        if (beyond := next(filter(None, ends), None)) is not None:
            return beyond
    share = reward_zero_std_frac.finite if reward_zero_std_frac is not None else None
    if share is not None and len(share) >= min_points and (at := _vanishing(share, min_share)) is not None:
        return _gone(share, at, min_points)
    spread, size = reward_group_std, advantage_abs_mean
    if spread is None or size is None or reward_min is None or reward_max is None or len(spread.finite) < min_points:
        return NotMeasured("the spread of the rewards within groups, or the size of the advantages, is not logged")
    late = spread.finite.tail(0.5)
    room = float(np.max(reward_max.finite.values) - np.min(reward_min.finite.values))
    ratio = float(np.median(late.values)) / room if room > 0 else 0.0
    if not 0 < ratio < max_spread or float(np.median(size.finite.tail(0.5).values)) < min_advantage:
        return None
    since = float(late.steps[0])
    return Finding(
        message=facts.tell(
            "within a group, rewards differ by {late} where their range is {room}, and the advantages are of full size: the "
            "division by the spread makes noise large; add a constant of about a hundredth of the range to the divisor",
            late=facts.median(late),
            room=number(room),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        **seen_in(spread, "spread within groups", since, (float(spread.finite.steps[0]), since)),
    )


def _beyond(largest: Series, reward: Series, group: float) -> Finding | None:
    """Advantages far above the spread that a group can give, and above the rewards themselves."""
    if not len(largest) or not len(reward):
        return None
    limit = FAR * max(group**0.5, float(np.abs(reward.values).max()))
    above = np.flatnonzero(np.abs(largest.values) > limit)
    if len(above) < max(MIN_BEYOND, SOME * len(largest)):
        return None
    return Finding(
        message=facts.tell(
            "{name} is {level} in {n} of {all} rows, and the rewards of a group are at most {bound} standard deviations from "
            "their mean: some group is divided by nearly 0; add a constant of about a hundredth of the range to the divisor",
            name=largest.raw or largest.name,
            level=number(float(np.median(largest.values[above]))),
            n=f"{len(above)}",
            all=f"{len(largest)}",
            bound=number(group**0.5),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        **seen_since(largest, "largest advantages", *from_point(largest, int(above[0])), level=limit),
    )


def _vanishing(share: Series, min_share: float) -> int | None:
    """Where a share that was never exactly 0 for long becomes 0, and stays there."""
    above = np.flatnonzero(share.values > 0)
    at = int(above[-1]) + 1 if len(above) else 0
    rest, settled = len(share) - at, share.values[max(0, at - 8) : at]
    return at if at >= 8 and rest >= 8 and np.median(settled) > min_share and np.mean(settled > 0) > 0.8 else None


def _gone(share: Series, at: int, min_points: int) -> Finding:
    """Zero-variance groups that are there no longer."""
    since = float(share.steps[at])
    earlier = share.between(float(share.steps[max(0, at - min_points // 2)]), float(share.steps[at - 1]))
    return Finding(
        message=facts.tell(
            "{before:%} of the groups had equal rewards until {since}, and none has since: something adds tiny "
            "differences, and the division by the group's spread makes them large; first round the rewards",
            before=facts.median(earlier),
            since=facts.at(share, since),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(share, "share of zero-variance groups", *from_point(share, at), metric="reward.zero_std_frac"),
    )
