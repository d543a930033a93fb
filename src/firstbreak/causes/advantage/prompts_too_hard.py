"""The prompts are too hard for the model as it is

## What happens
All completions of most prompts are wrong. Their groups carry no signal, and the score stays near its floor.

## When it is healthy
A floor in the first part of a run that then lifts.

## Fix
- Choose prompts that the model solves now and then: measure the success rate before training.
- Warm up with supervised examples; give partial credit; a curriculum.
- Drop silent groups and sample others instead ({dynamic_sampling}).

## Smallest experiment
Train on the prompts with a success rate between 0.2 and 0.8, or on the test set: if the score rises there, the data
were too hard.

## References
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

FINDINGS = {
    "training-below-evaluation": 0.4,
    "zero-variance-groups": 0.75,
    "reward-flat": 0.5,
    "reward-at-floor": 0.6,
    "gradient-vanished": 0.3,
    "no-update": 0.2,
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
    """Only groups of completions per prompt."""
    return inputs.get("family") == "group" or (inputs.get("family") is None and bool(inputs.get("writes_text")))
