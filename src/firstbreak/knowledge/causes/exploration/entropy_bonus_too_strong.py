"""The bonus for randomness outweighs the reward

## What happens
The policy is rewarded more for being random than for being good. The entropy stays at its start or grows, and the score
cannot settle.

## When it is healthy
Entropy that rises together with the score.

## Fix
- Compare the reward of one step with what randomness earns in the same unit: the reward must be larger.
- actor_critic, group_relative: Lower {entropy_coef}, or decay {entropy_coef} over the run.
- value_based: Lower what keeps the policy random: {exploration_final}, {action_noise} or {target_entropy}.
- control, actor_critic: Bound the standard deviation of the actions.

## Smallest experiment
Train for a tenth of the run without any reward for randomness: the score must rise.

actor_critic, group_relative: Set {entropy_coef} to 0. The entropy must then fall.

value_based, preference: Set every option to its usual value.

## References
https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.refutations import no_bonus

PRIOR = 0.7
FINDINGS = {
    "entropy-at-maximum": 0.35,
    "bonus-above-reward": 0.3,
    "entropy-runaway": 0.75,
    "score-below-start": 0.4,
    "score-lost": 0.6,
    "entropy-stays-high": 0.3,
    "zero-variance-groups": 0.4,
    "truncation": 0.3,
    "reward-flat": 0.2,
    "far-from-known-score": 0.3,
}
SETTINGS = {"entropy_coef": Side.HIGH, "exploration_final": Side.HIGH}
REFUTED_BY = (no_bonus,)
EXPERIMENT = ("no-entropy-bonus", "usual-settings")
