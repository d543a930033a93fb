"""Training sees only a sliver of the prompts

## What happens
No shuffling, a filter that is too strict, or the head of a data set: the policy learns these prompts by heart. The
training reward saturates, and the evaluation stands still or falls.

## When it is healthy
A small set on purpose, such as the overfitting test.

## Fix
- Count distinct prompts per hundred steps.
- Shuffle; loosen the filter.

## Smallest experiment
Evaluate on prompts of the training set and on held-out ones: a gap says it.

## References
https://arxiv.org/abs/2504.20571
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "reward-up-evaluation-down": 0.7,
    "zero-variance-groups": 0.6,
    "score-lost": 0.5,
    "entropy-collapse": 0.3,
}
EXPERIMENT = Experiment(
    id="train-on-test-set",
    overrides={"data": "test"},
    length=0.15,
    measure="eval.accuracy",
    if_cause="is the score better than the original's on the test set? yes",
    weight=2.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
