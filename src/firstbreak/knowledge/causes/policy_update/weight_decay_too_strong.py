"""The weight decay is too strong

## What happens
The decay shrinks the weights faster than the gradient can hold them. The policy loses what it had learned before.

## When it is healthy
A decay of 0.1 or less, or training from random weights.

## Fix
- Set the optimizer's weight decay to 0.1 or less: fine-tuning often uses 0.

## Smallest experiment
Log the norm of the weights over ten updates: it must not fall.

## References
https://arxiv.org/abs/1711.05101
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import measured_inside

PRIOR = 0.3
FAMILIES = without(Method.SUPERVISED)  # only where a policy is updated on samples
applies = measured_inside("decaying")
FINDINGS = {
    "weights-decay-away": 0.95,
    "score-below-start": 0.5,
    "score-lost": 0.4,
    "entropy-runaway": 0.3,
}
EXPERIMENT = "toy-reward"
