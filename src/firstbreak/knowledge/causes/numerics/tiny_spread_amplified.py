"""Noise is divided by its own tiny spread

## What happens
Groups whose rewards hardly differ get advantages of full size, because the rewards are divided by this small spread. Most
of the update then follows noise.

## When it is healthy
A real difference between completions, however small, that an evaluation confirms.

## Fix
- Do not divide by the spread of the group ({scale_rewards}), or add a lower limit to this spread.
- Leave out groups whose outcomes do not really differ.

## Smallest experiment
Round the rewards to two digits for 20 updates.

## References
https://arxiv.org/abs/2503.20783
https://github.com/verl-project/verl-recipe/pull/125
"""

from firstbreak.engine.families import Method, only

PRIOR = 0.4
FAMILIES = only(Method.GROUP_RELATIVE)  # only groups of completions per prompt
FINDINGS = {
    "tiny-spread": 0.85,
}
EXPERIMENT = "reward-probe"
