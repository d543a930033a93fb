"""The training signal drowns in noise

## What happens
The differences that the reward makes are small against the noise of a batch: few samples, sparse differences, or a
bonus that outweighs them. The policy drifts without direction.

## When it is healthy
Slow but visible progress over a longer stretch.

## Fix
- Larger {batch_size} or {group_size}; several updates' worth of data before judging.
- Raise {learning_rate} if divergence and clip fraction are near 0.
- Make the reward finer: partial credit, fewer saturated parts.

## Smallest experiment
Overfit one small batch of prompts or one start state: if the score does not rise even there, the signal does not
reach the weights.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.8
FINDINGS = {
    "reward-flat": 0.8,
    "entropy-stays-high": 0.4,
    "kl-reward": 0.35,
    "loss-pattern": 0.3,
    "zero-variance-groups": 0.15,
}
EXPERIMENT = Experiment(
    id="toy-reward",
    overrides={"reward": "toy"},
    length=0.1,
    measure="reward.mean",
    if_cause="does the toy reward rise? yes",
    weight=0.5,
)
