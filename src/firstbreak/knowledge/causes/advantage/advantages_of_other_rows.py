"""Advantages stand beside other samples than their own

## What happens
A shuffle, a sort or a roll moves advantages and not the tokens or actions beside them. Every sample is pushed by another
one's reward.

## When it is healthy
Never.

## Fix
- text: Move rewards, advantages, masks and tokens of a row together.
- control: Move rewards, advantages, masks and actions of a row together.
- Give one sample of a batch the reward 1 and all others 0: its row must have the largest advantage.

## Smallest experiment
Give one sample of a batch the reward 1 and all others 0: its row must have the largest advantage.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import advantages_of_the_rewards, recorded_inside

PRIOR = 0.5
FAMILIES = without(Method.SUPERVISED, Method.VALUE_BASED)  # only where a sample has an advantage
applies = recorded_inside
FINDINGS = {
    "advantages-not-of-rewards": 0.3,
    "advantages-of-other-rows-used": 0.95,
    "reward-flat": 0.4,
}
REFUTED_BY = (advantages_of_the_rewards,)
EXPERIMENT = ("one-prompt", "toy-reward")
