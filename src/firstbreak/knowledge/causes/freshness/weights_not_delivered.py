"""New weights do not reach the rollout workers

## What happens
The learner updates its weights, but the workers keep sampling with old weights or without the adapter. The mismatch grows
with every update, and staleness settings do not change it.

## When it is healthy
A constant small mismatch.

## Fix
- text: Compare hashes of the weights in trainer and inference engine after each synchronisation.
- text: List the adapters that the inference engine has loaded.
- control: Compare hashes of the weights in the learner and in each rollout worker after each synchronisation.

## Smallest experiment
Compare a hash of the weights on both sides after one synchronisation: both must be equal.

control, actor_critic: With one update per batch, the ratio to the old policy must be 1: if the ratio is not 1, the workers
have other weights.

value_based: Train for a short time on a reward that any policy can raise: if this reward does not rise, the workers may
have old weights.

## References
https://github.com/verl-project/verl/issues/7495
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight

#: trainers of one process, whose rollouts are sampled from the very network that is updated
ONE_COPY = frozenset(
    {
        *("baselines", "cleanrl", "dopamine", "ppo_pytorch", "pufferlib", "rl_games", "rlkit", "rsl_rl", "sb3", "skrl"),
        *("spinningup", "td3", "tianshou"),
    }
)

PRIOR = 0.5
FINDINGS = {
    "samples-beyond-age": 0.5,
    "engine-disagrees": 0.3,
    "sampled-by-another-model": 0.5,
    "samples-of-other-weights": 0.5,
    "mismatch-growing": 0.85,
    "train-inference-mismatch": 0.7,
    "stale-rollouts": 0.5,
    "step-too-large": 0.3,
    "kl-spike": 0.3,
    "score-lost": 0.4,
    "update-jumps": 0.3,
}
EXPERIMENT = ("weight-hashes", "first-ratio", "toy-reward")


def applies(inputs: Inputs) -> bool:
    """Where there is something to deliver: workers or an engine with a copy of the weights."""
    return inputs.run.trainer not in ONE_COPY


def weights(inputs: Inputs) -> list[Weight]:
    """Data older than the recorded limit allows: a queue cannot do that, standing weights can."""
    limit, ages = inputs.run.config.number("max_staleness"), inputs.staleness_max
    if limit is None or ages is None or not len(ages.finite):
        return []
    age = float(np.median(ages.finite.tail(0.25).values))
    if age > limit + 2:
        return [configured("config", 3.0, f"data are {age:g} versions old, and the limit is {limit:g}")]
    return []
