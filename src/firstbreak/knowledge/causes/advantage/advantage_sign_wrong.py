"""The advantages have the wrong sign

## What happens
The baseline minus the return, or ascent on a loss: good behaviour becomes less probable. The score falls below its start,
while the reward itself is right.

## When it is healthy
A short fall at the start.

## Fix
- text: Check one batch by hand: the completion with the highest reward must become more probable.
- control: Check one batch by hand: the action with the best return must have the largest advantage.
- Check the sign of the loss.

## Smallest experiment
text: Train on one prompt again and again: its best completion must become more probable.

control: Train on one start state again and again: its best action must become more probable.

## References
https://arxiv.org/abs/2005.12729
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import advantages_of_the_rewards, training_improved
from firstbreak.knowledge.causes._evidence import stops_half_way

PRIOR = 0.6
FAMILIES = without(Method.VALUE_BASED)  # methods that learn a value and act by it have no advantages
FINDINGS = {
    "advantages-negated": 0.9,
    "advantages-turned-round": 0.8,
    "score-lost": 0.85,
    "score-below-start": 0.4,
    "advantages-not-centred": 0.3,
    "zero-variance-groups": 0.5,
    "entropy-runaway": 0.15,
    "length-runaway": 0.1,
    "far-from-known-score": 0.6,
}
REFUTED_BY = (advantages_of_the_rewards, training_improved)
EXPERIMENT = "reward-negated"
weights = stops_half_way
