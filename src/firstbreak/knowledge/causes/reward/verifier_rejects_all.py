"""The verifier accepts no answer

## What happens
Right answers are compared with something that they can never be equal to: a number, another spelling, an empty column. All
completions get the same, and nothing is learned.

## When it is healthy
A task that the policy never solves.

## Fix
- Score one right answer by hand, through the trainer's own function.
- Look at types, spaces and marks of what is compared.

## Smallest experiment
Score one right answer by hand: it must get more than a wrong one.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import recorded_inside

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)
applies = recorded_inside
FINDINGS = {
    "right-completions-unpaid": 0.9,
    "zero-variance-groups": 0.6,
    "reward-flat": 0.7,
    "reward-at-floor": 0.6,
    "gradient-vanished": 0.3,
    "no-update": 0.2,
}
EXPERIMENT = "reward-probe"
