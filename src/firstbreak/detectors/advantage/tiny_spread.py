"""Differences of almost nothing are blown up to full advantages.

## What it looks for
Groups without reward spread disappear from one batch to the next (their share was above `before` and is exactly 0 from
then on) although no filter was switched on and the rewards' spread did not grow. Or the mean spread within groups is below
`tiny` of the rewards' range while the advantages are of full size.

## Why it matters
A group whose rewards are equal should teach nothing. Divided by its own tiny spread (a tie-breaker, a rounding error,
jitter of a judge), it teaches at full strength, and what it teaches is noise.

## When it is a false alarm
Dynamic sampling that drops silent groups has a share of 0 from the first batch on.

## Fix
- Add a constant of about a hundredth of the reward's range to the divisor, or do not divide ({scale_rewards} off).
- Round rewards before the advantage is computed, or drop groups whose spread is below a threshold.

## Smallest experiment
Recompute the advantages of one batch with a constant of 0.01 in the divisor: most of them must nearly vanish.

## References
https://arxiv.org/abs/2503.20783
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    reward_zero_std_frac: Series | None = None,
    reward_group_std: Series | None = None,
    advantage_abs_mean: Series | None = None,
    reward_min: Series | None = None,
    reward_max: Series | None = None,
    *,
    before: float = 0.02,
    tiny: float = 0.005,
    full: float = 0.3,
    min_points: int = 16,
) -> Finding | NotMeasured | None:
    silent = reward_zero_std_frac.finite if reward_zero_std_frac is not None else None
    if silent is not None and len(silent) >= min_points and (at := _vanishing(silent, before)) is not None:
        since = float(silent.steps[at])
        was = float(np.median(silent.values[max(0, at - min_points // 2) : at]))
        return Finding(
            message=(
                f"{percent(was)} of the groups had equal rewards until step {number(since)}, and not one has since: "
                "something adds tiny differences, which the division by the group's spread blows up; round the "
                "rewards first"
            ),
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            metric="reward.zero_std_frac",
            onset=since,
            interval=(float(silent.steps[at - 1]), since),
            evidence=(Evidence(text="share of groups without spread", series=silent, since=since),),
        )
    return _always_tiny(reward_group_std, advantage_abs_mean, reward_min, reward_max, tiny, full, min_points)


def _vanishing(silent: Series, before: float) -> int | None:
    """Where a share that never was exactly 0 for long becomes it, and stays."""
    silenced = np.flatnonzero(silent.values > 0)
    at = int(silenced[-1]) + 1 if len(silenced) else 0
    rest, settled = len(silent) - at, silent.values[max(0, at - 8) : at]
    return at if at >= 8 and rest >= 8 and np.median(settled) > before and np.mean(settled > 0) > 0.8 else None


def _always_tiny(
    spread: Series | None,
    size: Series | None,
    lowest: Series | None,
    highest: Series | None,
    tiny: float,
    full: float,
    min_points: int,
) -> Finding | NotMeasured | None:
    if spread is None or size is None or lowest is None or highest is None or len(spread.finite) < min_points:
        return NotMeasured("the spread of the rewards within groups, or the size of the advantages, is not logged")
    late = spread.finite.tail(0.5)
    room = float(np.max(highest.finite.values) - np.min(lowest.finite.values))
    ratio = float(np.median(late.values)) / room if room > 0 else 0.0
    if not 0 < ratio < tiny or float(np.median(size.finite.tail(0.5).values)) < full:
        return None
    since = float(late.steps[0])
    return Finding(
        message=(
            f"rewards differ by {percent(ratio)} of their range within a group, and the advantages are of full size: "
            "noise is blown up; put a constant of about a hundredth of the range into the divisor"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric="reward.group_std",
        onset=since,
        interval=(float(spread.finite.steps[0]), since),
        evidence=(Evidence(text="spread within groups", series=spread),),
    )
