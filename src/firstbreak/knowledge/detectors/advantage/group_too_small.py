"""The groups are too small for their rewards to differ.

## What it looks for
The group size of the configuration against the success rate that the reward shows. With success probability p and group
size G, the share of zero-variance groups is p^G + (1-p)^G. The check reports where that share is above `min_share`, and
where groups of four times the size would halve it.

## Why it matters
The compute for zero-variance groups is spent and teaches nothing. Two completions of a hard prompt are nearly always both
wrong.

## When it is a false alarm
Rewards with many levels: two completions of a prompt then rarely get the same reward, whatever the success rate.

## Fix
- Raise {group_size}, with fewer prompts per batch if memory is short.
- Choose prompts whose success rate is nearer to one half.

## Smallest experiment
One batch with four times the group size: count the groups with different rewards.

## References
https://arxiv.org/abs/2402.03300
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    config: Config,
    reward_mean: Series,
    zero_variance_groups: Series,
    *,
    min_share: float = at(0.6, "share", "With fewer zero-variance groups, enough groups are left to learn from."),
    solved: float = at(0.8, "share", "Of prompts that are mostly solved, little is left to learn."),
) -> Finding | NotApplicable | NotMeasured | None:
    size = config.recorded("group_size")
    if size is None:
        return NotMeasured("the group size is not recorded")
    rate = float(np.mean(reward_mean.finite.tail(0.5).values)) if len(reward_mean.finite) else -1.0
    if not 0 < rate < 1 or np.any(reward_mean.finite.values < 0) or np.any(reward_mean.finite.values > 1):
        return NotApplicable("the mean reward is not a success rate between 0 and 1")
    expected, larger = (rate**g + (1 - rate) ** g for g in (size, 4 * size))
    measured = float(np.mean(zero_variance_groups.finite.tail(0.5).values))
    if measured < min_share or expected < min_share or larger > expected / 2:
        return None
    return Finding(
        message=facts.tell(
            "groups of {size} at a success rate of {rate:%}: in {expected} of them all rewards must be equal ({measured:%} "
            "are), so these groups teach nothing; groups of {more} would leave {larger}",
            size=facts.setting(config, "group_size"),
            rate=facts.mean(reward_mean.finite.tail(0.5)),
            expected=percent(expected),
            measured=facts.mean(zero_variance_groups.finite.tail(0.5)),
            more=number(4 * size),
            larger=percent(larger),
        ),
        severity=Severity.NOTICE if rate >= solved else Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_in(zero_variance_groups, "zero-variance groups", metric="reward.zero_std_frac", level=expected),
    )
