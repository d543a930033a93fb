"""The actions that are executed are not those that the policy chose

## What happens
Between policy and environment there is a wrong index table, a clipped or rescaled range, or a queue that loses actions. The
log-probabilities or action values then belong to other actions than the rewards.

## When it is healthy
Sticky actions or action noise that are part of the task, in training and evaluation alike.

## Fix
- Log the action at the policy and in the environment, and compare 100 of them.
- Check clipping, squashing and the order of discrete actions.

## Smallest experiment
Run a scripted expert through the same wrapper. If the expert fails with the wrapper and succeeds without the wrapper, the
fault is in the wrapper.

## References
https://arxiv.org/abs/2101.00135
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.4
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
FINDINGS = {
    "actions-without-effect": 0.7,
    "action-range-unused": 0.1,
    "far-from-known-score": 0.7,
    "reward-flat": 0.4,
    "entropy-collapse": 0.35,
    "entropy-stays-high": 0.15,
    "score-lost": 0.2,
}
EXPERIMENT = "toy-reward"
