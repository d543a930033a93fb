"""Failed tool calls are graded as success

## What happens
An exception is read as "done", or an empty result equals an empty reference. A failed call is then the shortest way to
the reward: failures and reward rise together, and the true score falls.

## When it is healthy
Failures that rise for a while when new tools are tried, and fall again.

## Fix
- Grade the final state, never the text of the last message.
- Pass status codes on to the grader, and give a completion with a failed call the reward of a failure.

## Smallest experiment
Let one tool always fail in a batch: its completions must get the reward that they get without the call.

## References
https://arxiv.org/abs/2209.13085
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import calls_tools

PRIOR = 0.4
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that call tools
applies = calls_tools
FINDINGS = {
    "right-completions-unpaid": 0.5,
    "empty-text-paid": 0.5,
    "failures-pay": 0.8,
    "tool-errors": 0.3,
    "reward-up-evaluation-down": 0.7,
    "score-lost": 0.5,
    "zero-variance-groups": 0.3,
}
EXPERIMENT = "train-on-test-set"
