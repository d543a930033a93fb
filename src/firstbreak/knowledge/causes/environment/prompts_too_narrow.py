"""Training uses only a small part of the prompts

## What happens
No shuffling, a filter that is too strict, or only the first rows of a data set: the policy memorises these prompts. The
training reward reaches its maximum, and the evaluation does not change or falls.

## When it is healthy
A small data set on purpose, such as a test that the policy can overfit.

## Fix
- Count the distinct prompts in a hundred steps.
- Shuffle the data set, and make the filter less strict.

## Smallest experiment
Evaluate on prompts of the training set and on held-out prompts. A much higher score on the training set confirms this cause.

## References
https://arxiv.org/abs/2504.20571
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.4
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "prompts-repeated": 0.7,
    "batch-of-one-prompt": 0.6,
    "batch-repeated": 0.6,
    "symbols-never-trained": 0.6,
    "reward-up-evaluation-down": 0.7,
    "zero-variance-groups": 0.6,
    "score-lost": 0.5,
    "entropy-collapse": 0.3,
}
EXPERIMENT = "train-on-test-set"
