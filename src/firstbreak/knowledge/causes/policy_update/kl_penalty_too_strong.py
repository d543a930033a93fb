"""The penalty for leaving the reference outweighs the reward

## What happens
The policy is rewarded more for staying near the reference than for improving. The KL divergence stays near 0 or falls, and
the score is flat or returns to its start.

## When it is healthy
A KL divergence that is small because the task needs little change, with a score that rises.

## Fix
- Lower {kl_coef}.
- Log reward and penalty separately, in the same unit.

## Smallest experiment
Train for a tenth of the run with {kl_coef} = 0, or divided by ten: if the score now rises, the penalty was too strong.

## References
https://arxiv.org/abs/2203.02155
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import no_penalty

PRIOR = 0.5
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "penalty-outweighs-reward": 0.8,
    "reward-flat": 0.5,
    "score-lost": 0.4,
    "entropy-stays-high": 0.2,
    "penalty-eats-reward": 0.5,
}
SETTINGS = {"kl_coef": Side.HIGH}
REFUTED_BY = (no_penalty,)
EXPERIMENT = ("no-kl-penalty", "usual-settings")
