"""From some step on, the updates push the other way

## What happens
The policy loss was positive and is negative from one step to the next, or the other way round, and the score falls from
there. Something that multiplies the update changed its sign or its meaning in mid-run: another stage of the data with
swapped labels, a resumed run with other settings, a new version of the reward.

## When it is healthy
With normalised advantages the loss lies round zero, and its sign means nothing while the score rises.

## Fix
- Compare data, settings and code before and after that step, above all where a run was resumed.
- Print rewards, advantages and loss of one batch before that step and of one after it: the signs must agree.
- Go back to the checkpoint before that step.

## Smallest experiment
Resume from the checkpoint before that step, with the data from before it: if the loss keeps its sign, the data are the
reason. If it turns again, the settings or the code are.

## References
https://arxiv.org/abs/1707.06347
"""

from firstbreak.engine.families import Method, without

PRIOR = 0.2
#: the actor's loss of value-based methods is minus a value, and supervised training has no direction to be wrong in
FAMILIES = without(Method.VALUE_BASED, Method.SUPERVISED)
FINDINGS = {
    "loss-pattern": 0.9,
    "score-lost": 0.5,
}
EXPERIMENT = "reward-negated"
