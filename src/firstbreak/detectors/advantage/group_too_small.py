"""The groups are too small for their rewards to differ.

## What it looks for
The group size of the configuration against the success rate that the reward shows: with success probability p, a
share p^G + (1-p)^G of the groups is silent. Reported where that share is above `most` and four times the group would
halve it.

## Why it matters
The compute for the silent groups is spent and teaches nothing; two completions of a hard prompt are nearly always
both wrong.

## When it is a false alarm
Rewards with many levels: then two completions of a prompt seldom tie, whatever the success rate.

## Fix
- Raise {group_size}, with fewer prompts per batch if memory is short.
- Choose prompts whose success rate is nearer to one half.

## Smallest experiment
One batch with four times the group size: count the groups with different rewards.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    config: Config, reward_mean: Series, silent_groups: Series, *, most: float = 0.6
) -> Finding | NotApplicable | NotMeasured | None:
    size = config.number("group_size")
    if size is None or "group_size" in config.defaulted:
        return NotMeasured("the group size is not recorded")
    rate = float(np.mean(reward_mean.finite.tail(0.5).values)) if len(reward_mean.finite) else -1.0
    if not 0 < rate < 1 or np.any(reward_mean.finite.values < 0) or np.any(reward_mean.finite.values > 1):
        return NotApplicable("the mean reward is not a success rate between 0 and 1")
    silent, larger = (rate**g + (1 - rate) ** g for g in (size, 4 * size))
    measured = float(np.mean(silent_groups.finite.tail(0.5).values))
    if measured < most or silent < most or larger > silent / 2:
        return None
    return Finding(
        message=(
            f"groups of {number(size)} at a success rate of {percent(rate)}: {percent(silent)} must be silent "
            f"({percent(measured)} are); groups of {number(4 * size)} would leave {percent(larger)}"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="reward.zero_std_frac",
        onset=float(silent_groups.steps[0]),
        interval=(float(silent_groups.steps[0]), float(silent_groups.steps[0])),
        evidence=(Evidence(text="silent groups", series=silent_groups, level=silent),),
    )
