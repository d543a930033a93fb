"""The horizon is too short for the rewards that matter

## What happens
Discount or lambda are so small that later consequences of an action do not count. The policy learns only what is rewarded
next.

## When it is healthy
Tasks whose reward follows at once.

## Fix
- Raise {gamma}: 1 / (1 - gamma) should cover the time from action to reward.
- actor_critic: Raise {gae_lambda} as well.

## Smallest experiment
Train with {gamma} = 0.99 for a tenth of the run: the score must become better than that of the run.

## References
https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Policy, only

PRIOR = 0.5
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
FINDINGS = {
    "horizon-short": 0.9,
    "reward-flat": 0.3,
    "score-lost": 0.2,
    "value-loss-vanishes": 0.3,
    "far-from-known-score": 0.4,
}
SETTINGS = {"gamma": Side.LOW, "gae_lambda": Side.LOW}
EXPERIMENT = "long-horizon"
