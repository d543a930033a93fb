"""Too many actions are random

## What happens
The share of random actions does not fall, or is set back during the run. The training return is that of a random policy,
whatever the policy has learned, and the replay buffer fills with its transitions.

## When it is healthy
A run that is too short for its schedule. Data that are collected at random on purpose.

## Fix
- Lower {exploration_final} to 0.05 or less, and let epsilon fall sooner ({exploration_fraction}).
- Look for what sets the schedule back: a counter that starts anew, or a schedule in other units than the loop's.
- Judge the policy by an evaluation without random actions.

## Smallest experiment
Train for a tenth of the run with few random actions from the start: the training return must rise at once.

## References
https://arxiv.org/abs/1312.5602
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Method, only

PRIOR = 0.4
FAMILIES = only(Method.VALUE_BASED)  # methods that act at random with a probability of their own
FINDINGS = {
    "random-actions-remain": 0.9,
    "score-lost": 0.3,
    "score-drops-at-once": 0.3,
    "reward-flat": 0.3,
}
SETTINGS = {"exploration_final": Side.HIGH, "exploration_fraction": Side.HIGH}
EXPERIMENT = "few-random-actions"
