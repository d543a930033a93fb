"""The prompts are cut before the model sees the question

## What happens
Prompts longer than the limit lose their beginning or their end. The model answers a question that is not the whole question,
and the reward judges the answer to the whole question.

## When it is healthy
A few long prompts in a data set of short prompts.

## Fix
- Raise {max_prompt_tokens}, or drop the prompts that do not fit.
- Print ten prompts as the model gets them, decoded.

## Smallest experiment
Generate answers to 50 of the cut prompts without the limit, and score the answers. If the mean score is higher, the limit was
the cause.

## References
https://github.com/huggingface/trl/issues/5697
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.3
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "prompts-end-early": 0.8,
    "prompt-truncation": 0.95,
    "prompt-with-several-answers": 0.3,
    "answers-not-of-prompts": 0.2,
    "reward-flat": 0.4,
    "zero-variance-groups": 0.3,
}
EXPERIMENT = "data-probe"
