"""The bonus for randomness outweighs the reward

## What happens
The policy is paid more for being random than for being good. Entropy stays at its start or grows, and the score
cannot settle.

## When it is healthy
Entropy that rises with the score.

## Fix
- Lower {entropy_coef}, or decay it.
- Bound the standard deviation of the actions.

## Smallest experiment
{entropy_coef} = 0 for a tenth of the run: entropy must fall and the score rise.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.7
STRONG = 0.05  #: usual coefficients are 0 to 0.01
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
EXPERIMENT = Experiment(
    id="no-entropy-bonus",
    overrides={"entropy_coef": 0.0},
    length=0.15,
    measure="policy.entropy",
    if_cause="is the score better than the original's at the same steps? yes",
    weight=2.4,
)


def facts(inputs: Inputs) -> list[Weight]:
    """The recorded coefficient of the bonus."""
    coefficient = inputs.run.config.number("entropy_coef")
    if coefficient is None or "entropy_coef" in inputs.run.config.defaulted:
        return []
    if coefficient >= STRONG:
        weight = 3.5 if coefficient >= 10 * STRONG else 2.0
        return [Weight(finding="config", weight=weight, text=f"the bonus has a coefficient of {coefficient:g}")]
    return [Weight(finding="config", weight=-0.7, text=f"the bonus has a coefficient of {coefficient:g}")]
