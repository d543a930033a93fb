"""The prompts are written in the wrong template

## What happens
Another chat template, a missing generation prompt or a doubled special token: the model answers text unlike any it
was trained on. Everything starts far below what it can do.

## When it is healthy
A base model that has never seen a template.

## Fix
- Print one prompt as token ids, and compare with the tokenizer's own template.
- Use the same function to build prompts for training and evaluation.

## Smallest experiment
Score 50 prompts before training under both templates.

## References
https://github.com/huggingface/trl/issues/5224
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.3
FINDINGS = {
    "answers-scatter": 0.7,
    "training-below-evaluation": 0.85,
    "reward-at-floor": 0.4,
    "reward-flat": 0.35,
    "zero-variance-groups": 0.5,
    "truncation": 0.25,
    "score-lost": 0.5,
}
EXPERIMENT = Experiment(
    id="train-on-test-set",
    overrides={"data": "test"},
    length=0.15,
    measure="reward.mean",
    if_cause="is the score better than the original's on the test set? yes",
    weight=2.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
