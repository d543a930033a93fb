"""Completions are graded against the answers of other prompts

## What happens
A column was shuffled, or an index is off by one: the reward no longer depends on the prompt. The reward falls to the
level of guessing at once and stays there.

## When it is healthy
A harder stage of the data.

## Fix
- Print five prompts with the completions and with the answers that they are compared with.
- Keep the prompt and its answer in one record, so that no shuffle can separate them.

## Smallest experiment
Send completions that are known to be right through the whole reward code: all of them must get the full reward.

## References
https://arxiv.org/abs/1709.06560
"""

from firstbreak.engine.families import GRADED, Policy, only

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "answers-of-other-prompts": 0.7,
    "references-fit-other-prompts": 0.8,
    "references-differ-in-group": 0.5,
    "right-answers-unpaid": 0.7,
    "training-below-evaluation": 0.6,
    "reward-at-floor": 0.5,
    "zero-variance-groups": 0.6,
    "reward-flat": 0.4,
    "score-below-start": 0.2,
}
EXPERIMENT = "train-on-test-set"
