"""New weights do not reach the rollout workers

## What happens
The learner updates, but the workers keep sampling from old weights or without the adapter. The mismatch grows with
every update and staleness settings do not change it.

## When it is healthy
A constant small mismatch.

## Fix
- Hash the weights in trainer and engine after each sync.
- List the adapters that the engine has loaded.

## Smallest experiment
Compare the weight hash on both sides after one sync.

## References
https://github.com/verl-project/verl/issues/7495
"""

from __future__ import annotations

import numpy as np

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

#: trainers of one process, whose rollouts are sampled from the very network that is updated
ONE_COPY = frozenset(
    {
        *("baselines", "cleanrl", "dopamine", "ppo_pytorch", "pufferlib", "rl_games", "rlkit", "rsl_rl", "sb3", "skrl"),
        *("spinningup", "td3", "tianshou"),
    }
)

PRIOR = 0.5
FINDINGS = {
    "mismatch-growing": 0.85,
    "train-inference-mismatch": 0.7,
    "stale-rollouts": 0.5,
    "step-too-large": 0.3,
    "kl-spike": 0.3,
    "score-lost": 0.4,
}
EXPERIMENT = Experiment(
    id="weight-hashes",
    overrides={"watch": "weights"},
    length=0.1,
    measure="rollout_train.kl",
    if_cause="do the two sides hold different weights after a delivery? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Where there is something to deliver: workers or an engine with a copy of the weights."""
    return inputs.run.trainer not in ONE_COPY


def facts(inputs: Inputs) -> list[Weight]:
    """Data older than the recorded limit allows: a queue cannot do that, standing weights can."""
    limit, ages = inputs.run.config.number("max_staleness"), inputs.get("staleness_max")
    if limit is None or ages is None or not len(ages.finite):
        return []
    age = float(np.median(ages.finite.tail(0.25).values))
    if age > limit + 2:
        return [Weight(finding="config", weight=3.0, text=f"data are {age:g} versions old, and the limit is {limit:g}")]
    return []
