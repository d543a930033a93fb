"""Rewards that matter lie beyond the horizon

## What happens
Discount or lambda are so small that an action does not feel its consequence. The policy becomes greedy for what comes
next.

## When it is healthy
Tasks whose reward follows at once.

## Fix
- Raise {gamma} and {gae_lambda}: 1 / (1 - gamma) should cover the time from action to reward.

## Smallest experiment
{gamma} = 0.99 for a tenth of the run.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.5
FINDINGS = {
    "horizon-short": 0.9,
    "reward-flat": 0.3,
    "score-lost": 0.2,
    "value-loss-vanishes": 0.3,
    "far-from-known-score": 0.4,
}
EXPERIMENT = Experiment(
    id="long-horizon",
    overrides={"gamma": 0.99},
    length=0.15,
    measure="reward.mean",
    if_cause="is the score better than the original's at the same steps? yes",
    weight=2.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that act in an environment."""
    return not inputs.get("writes_text")


def facts(inputs: Inputs) -> list[Weight]:
    """A recorded discount far below the usual ones."""
    gamma = inputs.run.config.number("gamma")
    if gamma is None or "gamma" in inputs.run.config.defaulted:
        return []
    if gamma < 0.9:
        return [
            Weight(finding="config", weight=2.5, text=f"gamma is {gamma:g}: a horizon of {1 / (1 - gamma):.0f} steps")
        ]
    return [Weight(finding="config", weight=-1.5, text=f"gamma is {gamma:g}")]
