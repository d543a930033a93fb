"""Something else than the optimizer sets the weights

## What happens
A callback, a synchronisation or an average writes into the policy that is trained. What an update has learned is taken back,
in part or as a whole.

## When it is healthy
Averaged weights that are meant to be trained.

## Fix
- Look for what calls `load_state_dict`, `copy_` or `to` on the policy between two updates.
- Keep averaged weights in a model of their own.

## Smallest experiment
Compare a hash of the weights after one update with the hash before the next.

## References
https://docs.pytorch.org/docs/stable/optim.html
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import measured_inside

PRIOR = 0.3
FAMILIES = without(Method.SUPERVISED)  # only where a policy is updated on samples
applies = measured_inside("overwritten", "changed_between")
FINDINGS = {
    "weights-overwritten": 0.9,
    "reward-flat": 0.5,
}
EXPERIMENT = "toy-reward"
