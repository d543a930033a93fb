"""The prompts are written in the wrong template

## What happens
Another chat template, a missing generation prompt or a doubled special token: the model gets text that is unlike its
training data. The first scores are far below what the model can do.

## When it is healthy
A base model that has never seen a template.

## Fix
- Print one prompt as token ids, and compare with the chat template of the tokenizer.
- Use the same function to build prompts for training and evaluation.

## Smallest experiment
Before training, generate answers to 50 prompts with each of the two templates, and compare the scores.

## References
https://github.com/huggingface/trl/issues/5224
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import scored_well_at_first

PRIOR = 0.3
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "template-not-evaluations": 0.8,
    "answers-scatter": 0.7,
    "training-below-evaluation": 0.85,
    "reward-at-floor": 0.4,
    "reward-flat": 0.35,
    "zero-variance-groups": 0.5,
    "truncation": 0.25,
    "score-lost": 0.5,
}
REFUTED_BY = (scored_well_at_first,)
EXPERIMENT = "train-on-test-set"
