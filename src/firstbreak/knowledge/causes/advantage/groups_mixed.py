"""The baseline mixes completions of different prompts

## What happens
Rewards are compared across prompts instead of within one prompt, so all completions of an easy prompt look good. The
mean advantage of a prompt is no longer 0.

## When it is healthy
Normalisation over the batch on purpose, after a baseline per prompt.

## Fix
- Check the index that assigns completions to prompts, after every shuffle and filter.
- Log the mean advantage of each prompt: it must be 0.

## Smallest experiment
Print the group ids beside the prompts of one batch: each id must belong to one prompt.

## References
https://github.com/PeterGriffinJin/Search-R1/pull/88
"""

from firstbreak.engine.families import Method, Policy, only
from firstbreak.engine.refutations import groups_of_one_prompt

PRIOR = 0.6
FAMILIES = only(Policy.TEXT, Method.GROUP_RELATIVE)  # only groups of completions per prompt
FINDINGS = {
    "groups-of-several-prompts": 0.5,
    "baseline-of-other-prompts": 0.5,
    "advantages-of-other-rows-used": 0.1,
    "advantages-not-of-rewards": 0.1,
    "advantages-not-centred": 0.9,
    "score-lost": 0.4,
    "reward-flat": 0.1,
}
REFUTED_BY = (groups_of_one_prompt,)
EXPERIMENT = "one-prompt"
