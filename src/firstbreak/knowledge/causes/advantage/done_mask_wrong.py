"""Values are estimated across the ends of episodes

## What happens
The done mask is missing or shifted, so the value of the next episode is added to this one. Values rise slowly towards
r / (1 - gamma), and the policy learns from wrong values long before the return shows the damage.

## When it is healthy
Values near r / (1 - gamma) in a task that never ends.

## Fix
- Multiply the bootstrap value by 1 - terminated, at the right index.
- Compare the returns of one short episode with a sum by hand.
- value_based: Check which end the replay buffer stores: a time limit is no terminal state.

## Smallest experiment
Compute the value targets of a hand-made buffer with an end in the middle, and compare them with a calculation by hand.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.7
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
FINDINGS = {
    "values-through-ends": 0.95,
    "advantages-not-reproduced": 0.8,
    "value-loss-vanishes": 0.7,
    "score-lost": 0.6,
    "value-loss-growing": 0.2,
    "value-scale-mismatch": 0.2,
    "critic-worse-than-mean": 0.3,
    "far-from-known-score": 0.4,
}
EXPERIMENT = ("critic-only", "toy-reward")
