"""The training signal is weaker than its noise

## What happens
The differences that the reward makes are small against the noise of a batch: few samples, rare differences, or a bonus
that outweighs them. The policy changes without direction.

## When it is healthy
Slow but visible progress over a longer stretch.

## Fix
- Raise {batch_size}.
- group_relative: Raise {group_size}.
- group_relative, actor_critic: Raise {learning_rate} if the KL divergence per update and the clip fraction are near 0.
- text: Filter the prompts by difficulty: those that are always or never solved add noise and no signal.
- Make the reward finer: partial credit, fewer components that are always the same.

## Smallest experiment
text: Train on one small batch of prompts again and again. If the score does not rise even there, the signal does not
reach the weights.

control: Train from one start state again and again. If the score does not rise even there, the signal does not reach the
weights.

## References
https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Method, without

PRIOR = 0.8
FAMILIES = without(Method.PREFERENCE)  # pairs have no spread of rewards
FINDINGS = {
    "reward-flat": 0.8,
    "entropy-stays-high": 0.4,
    "kl-reward": 0.35,
    "loss-pattern": 0.3,
    "zero-variance-groups": 0.15,
    "reward-swings": 0.3,
}
SETTINGS = {"learning_rate": Side.LOW, "batch_size": Side.LOW, "minibatch_size": Side.LOW, "clip_range": Side.LOW}
EXPERIMENT = "toy-reward"
