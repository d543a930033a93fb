"""The update makes what was good less probable

## What happens
Advantages are right, and the loss or the optimizer turns them round: a minus sign too many or too few, an optimizer that
maximises, a clip that lets only bad samples through.

## When it is healthy
Never.

## Fix
- text: Check one batch by hand: the completion with the largest advantage must become more probable.
- control: Check one batch by hand: the action with the largest advantage must become more probable.
- Check the sign of the loss, and `maximize` of the optimizer.

## Smallest experiment
text: Train on one prompt again and again: its best completion must become more probable.

control: Train on one batch again and again: its best action must become more probable.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.families import SAMPLED, only
from firstbreak.engine.refutations import recorded_inside

PRIOR = 0.5
FAMILIES = only(*SAMPLED)  # only policies that are updated on samples or pairs
applies = recorded_inside
FINDINGS = {
    "loss-turned-round": 0.7,
    "update-against-advantages": 0.9,
    "one-sign-without-gradient": 0.2,
    "score-lost": 0.5,
}
EXPERIMENT = "reward-negated"
