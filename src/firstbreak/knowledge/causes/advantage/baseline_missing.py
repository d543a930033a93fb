"""The advantage has no baseline

## What happens
The reward itself weighs the loss. With rewards that are never negative, all completions become more probable, the wrong ones
as well, and hard prompts teach nothing.

## When it is healthy
REINFORCE without a baseline on purpose, with a small learning rate.

## Fix
- Subtract the mean reward of the prompt's completions.

## Smallest experiment
Log the mean advantage of each prompt: it must be 0.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import advantages_of_the_rewards, recorded_inside

PRIOR = 0.5
FAMILIES = only(Policy.TEXT)
applies = recorded_inside
FINDINGS = {
    "advantages-not-of-rewards": 0.3,
    "no-baseline": 0.95,
    "advantages-not-centred": 0.3,
    "reward-flat": 0.2,
}
REFUTED_BY = (advantages_of_the_rewards,)
EXPERIMENT = "one-prompt"
