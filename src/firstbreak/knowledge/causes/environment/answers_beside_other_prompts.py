"""The right answers of the data do not belong to their prompts

## What happens
A column was shuffled, sorted or filtered apart from the prompts: each prompt stands beside another one's answer. Completions
that are right get nothing, and a reward is luck.

## When it is healthy
Prompts that are hard for the policy.

## Fix
- Print five prompts with their right answers, and answer the prompts by hand.
- Keep a prompt and its answer in one record, so that no shuffle can separate them.

## Smallest experiment
Send completions that are known to be right through the whole reward code: all of them must get the full reward.

## References
https://arxiv.org/abs/2505.22203
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import measured_inside

PRIOR = 0.3
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
applies = measured_inside("own_lift", "answer_elsewhere", "prompt_torn")
FINDINGS = {
    "answers-not-of-prompts": 0.9,
    "prompt-with-several-answers": 0.6,
    "reward-flat": 0.4,
    "zero-variance-groups": 0.3,
}
EXPERIMENT = "train-on-test-set"
