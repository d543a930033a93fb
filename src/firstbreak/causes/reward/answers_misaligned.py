"""Completions are graded against other prompts' answers

## What happens
A shuffled column or an index that is off by one: the reward no longer depends on what was asked. It falls to the
level of luck at once and stays there.

## When it is healthy
A harder data stage.

## Fix
- Print five prompts, completions and answers from inside the reward function.
- Carry the answer with the prompt in one record.

## Smallest experiment
Grade known-right completions through the whole pipeline: all of them must earn the reward.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "references-fit-other-prompts": 0.8,
    "right-answers-unpaid": 0.7,
    "training-below-evaluation": 0.6,
    "reward-at-floor": 0.5,
    "zero-variance-groups": 0.6,
    "reward-flat": 0.4,
    "score-below-start": 0.2,
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
