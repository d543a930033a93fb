"""Advantages stand beside other completions than their own

## What happens
A shuffle, a sort or a roll moves advantages and not the tokens beside them. Every completion is pushed by another one's
reward.

## When it is healthy
Never.

## Fix
- Move rewards, advantages, masks and tokens of a row together.
- Give one completion of a batch the reward 1 and all others 0: its row must have the largest advantage.

## Smallest experiment
Give one completion of a batch the reward 1 and all others 0: its row must have the largest advantage.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.diagnosis.families import Policy, only
from firstbreak.diagnosis.refutations import recorded_inside as applies

__all__ = ["applies"]

PRIOR = 0.5
FAMILIES = only(Policy.TEXT)
FINDINGS = {
    "advantages-not-of-rewards": 0.3,
    "advantages-of-other-rows-used": 0.95,
    "reward-flat": 0.4,
}
EXPERIMENT = "one-prompt"
