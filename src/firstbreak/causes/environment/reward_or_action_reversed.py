"""Reward sign, label or action mapping is reversed

## What happens
The policy learns, but away from the goal: it becomes reliably worse than it was before training, and more certain of
it.

## When it is healthy
A score that dips below its start while the policy explores, and comes back.

## Fix
- Check the sign of every reward component against ten samples scored by hand.
- Check the order of actions, and of chosen and rejected.
- Check the sign of the loss: maximise reward, minimise its negative.

## Smallest experiment
Turn the sign of the reward for 20 updates: if the score now rises, the sign was the break.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.model import Experiment

FINDINGS = {
    "score-below-start": 0.9,
    "preference-labels-swapped": 0.4,
    "entropy-collapse": 0.4,
    "reward-flat": 0.1,
}
EXPERIMENT = Experiment(
    overrides={},
    measure="reward.mean",
    if_cause="the score rises with the sign turned",
)
