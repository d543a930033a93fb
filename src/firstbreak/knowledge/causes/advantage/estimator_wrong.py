"""Advantages or targets are computed wrongly

## What happens
The estimator gives other numbers than its formula: a discount twice or not at all, the value of another step, another
baseline, the policy's network where the target network belongs.

## When it is healthy
An estimator of one's own, written on purpose.

## Fix
- Compute advantages and targets of one short batch by hand, and compare them number by number.
- Use the estimator of a library, and compare.

## Smallest experiment
Compute advantages and targets of one short batch by hand, and compare them number by number.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import recorded_inside

PRIOR = 0.5
FAMILIES = without(Method.SUPERVISED, Method.PREFERENCE)  # only where rewards become advantages or targets
applies = recorded_inside
FINDINGS = {
    "advantages-not-of-rewards": 0.7,
    "targets-not-of-rewards": 0.9,
    "score-lost": 0.3,
    "reward-flat": 0.3,
}
EXPERIMENT = ("one-prompt", "critic-only", "toy-reward")
