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

from firstbreak.model import Experiment

PRIOR = 0.7
FINDINGS = {
    "entropy-runaway": 0.7,
    "entropy-stays-high": 0.6,
    "reward-flat": 0.4,
    "score-lost": 0.3,
}
EXPERIMENT = Experiment(
    id="no-entropy-bonus",
    overrides={"entropy_coef": 0.0},
    length=0.15,
    measure="policy.entropy",
    if_cause="does the score rise? yes",
    weight=1.4,
)
