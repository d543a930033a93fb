"""The prompts are too hard for the model

## What happens
All completions of most prompts are wrong. Their groups carry no signal, and the score stays near its lowest value.

## When it is healthy
A low score in the first part of a run that then rises.

## Fix
- Choose prompts that the model solves now and then: measure the success rate before training.
- Warm up with supervised examples; give partial credit; use a curriculum.
- Drop zero-variance groups and sample others instead ({dynamic_sampling}).

## Smallest experiment
Train on the prompts with a success rate between 0.2 and 0.8, or on the test set. If the score rises there, the data were
too hard.

## References
https://arxiv.org/abs/2503.14476
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import UNKNOWN, Method, Policy, only
from firstbreak.engine.refutations import right_ones_unpaid, scored_well_at_first, scores_well

FAMILIES = only(Policy.TEXT, Method.GROUP_RELATIVE, UNKNOWN)  # only groups of completions per prompt
FINDINGS = {
    "training-below-evaluation": 0.4,
    "zero-variance-groups": 0.75,
    "reward-flat": 0.5,
    "reward-at-floor": 0.6,
    "gradient-vanished": 0.3,
    "no-update": 0.2,
}
SETTINGS = {"dynamic_sampling": Side.OFF}
REFUTED_BY = (scores_well, scored_well_at_first, right_ones_unpaid)
EXPERIMENT = "train-on-test-set"
