"""The rewards have outliers or the wrong scale

## What happens
One component of the reward, or one rare event, is so large that it makes the whole update. Everything else is noise
beside this component.

## When it is healthy
Rewards with rare large values and a score that rises.

## Fix
- Normalise or clip rewards; check the unit of each component.
- text: Read the completion with the extreme reward.
- control: Watch the episode with the extreme reward.

## Smallest experiment
Train 20 updates with rewards clipped at the 99th percentile. If the score rises, the scale was the cause.

## References
https://arxiv.org/abs/2005.12729
"""

PRIOR = 0.7
FINDINGS = {
    "reward-scale-apart": 0.6,
    "rewards-clipped-away": 0.6,
    "reward-outlier": 0.2,
    "value-explosion": 0.2,
    "entropy-stays-high": 0.4,
    "reward-flat": 0.3,
    "critic-worse-than-mean": 0.3,
    "far-from-known-score": 0.5,
}
EXPERIMENT = "scaled-rewards"
