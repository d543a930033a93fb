"""The reference is not the policy's start

## What happens
The reference has other weights than the policy began with, or is the policy itself. The penalty pulls to another model, or
holds nothing.

## When it is healthy
An older model as reference on purpose, or one that is moved along by the trainer's own option.

## Fix
- Load the reference from where the policy comes from, weights and all.
- Make it a copy: `copy.deepcopy(model)`.

## Smallest experiment
Log the divergence before the first update, where it must be 0, and after ten updates, where it must not be.

## References
https://arxiv.org/abs/2305.18290
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.refutations import recorded_inside

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *SAMPLED)  # only policies that write text, from samples or pairs
applies = recorded_inside
FINDINGS = {
    "reference-not-initial": 0.6,
    "reference-is-policy": 0.5,
    "preference-loss-start": 0.2,
}
EXPERIMENT = "no-kl-penalty"
