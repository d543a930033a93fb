"""The rewards have outliers or the wrong scale

## What happens
One part of the reward, or one rare event, is so large that it makes the whole update; everything else is noise beside
it.

## When it is healthy
Heavy-tailed rewards with a score that rises.

## Fix
- Normalise or clip rewards; check the unit of each component.
- Look at the sample with the extreme reward.

## Smallest experiment
Train 20 updates with rewards clipped at the 99th percentile.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.7
FINDINGS = {
    "reward-scale-apart": 0.6,
    "reward-outlier": 0.2,
    "value-explosion": 0.2,
    "entropy-stays-high": 0.4,
    "reward-flat": 0.3,
    "critic-worse-than-mean": 0.3,
    "far-from-known-score": 0.5,
}
EXPERIMENT = Experiment(
    id="scaled-rewards",
    overrides={"normalize_reward": True},
    length=0.15,
    measure="kl.old",
    if_cause="does the policy move more than twice as far in an update as the control's? yes",
    weight=2.4,
)
