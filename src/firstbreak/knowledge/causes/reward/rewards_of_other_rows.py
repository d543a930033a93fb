"""Completions get the rewards of other rows

## What happens
A pool returns scores in the order in which they are done, a cache knows a prompt and not its completion, an index is one row
late. Good completions are paid for what others wrote.

## When it is healthy
Rewards that rank the completions of a prompt on purpose.

## Fix
- Return the scores in the order of the completions, also from a pool of workers.
- Make prompt and completion the key of a cache.

## Smallest experiment
Score a batch of one, then the same completion in a batch of ten: both scores must be equal.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import recorded_inside

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)
applies = recorded_inside
FINDINGS = {
    "right-completions-unpaid": 0.5,
    "rewards-of-neighbours": 0.95,
    "equal-texts-paid-apart": 0.9,
    "right-and-wrong-paid-alike": 0.7,
    "zero-variance-groups": 0.2,
    "reward-flat": 0.3,
}
EXPERIMENT = "reward-probe"
