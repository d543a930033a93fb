"""The penalty for leaving the reference outweighs the reward

## What happens
The policy is paid more for staying than for improving. The divergence stays near 0 or falls, and the score stands
still or returns to its start.

## When it is healthy
A divergence that is small because the task needs little change, with a score that rises.

## Fix
- Lower {kl_coef}.
- Log reward and penalty apart, in the same unit.

## Smallest experiment
{kl_coef} / 10 for a tenth of the run.

## References
https://arxiv.org/abs/2203.02155
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.5
FINDINGS = {
    "reward-flat": 0.5,
    "score-lost": 0.4,
    "entropy-stays-high": 0.2,
}
EXPERIMENT = Experiment(
    id="no-kl-penalty",
    overrides={"kl_coef": 0.0},
    length=0.15,
    measure="kl.ref",
    if_cause="does the policy leave its reference half as far again as the original did? yes",
    weight=2.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))


def facts(inputs: Inputs) -> list[Weight]:
    """A recorded coefficient far above or below the usual 0.001 to 0.1."""
    coefficient = inputs.run.config.number("kl_coef")
    if coefficient is None or "kl_coef" in inputs.run.config.defaulted:
        return []
    if coefficient > 0.3:
        return [Weight(finding="config", weight=2.5, text=f"the penalty coefficient is {coefficient:g}")]
    return [Weight(finding="config", weight=-1.0, text=f"the penalty coefficient is {coefficient:g}")]
