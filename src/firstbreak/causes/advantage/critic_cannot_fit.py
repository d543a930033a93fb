"""The critic does not fit the returns

## What happens
Explained variance stays at or below 0: advantages are as noisy as the returns themselves, and the policy is pushed
around by them.

## When it is healthy
The reward ceiling: equal returns have no variance to explain, and the number is meaningless.

## Fix
- Normalise rewards or returns.
- Raise the critic's learning rate or epochs; a larger critic; no shared trunk.
- Check the bootstrap at truncation and the terminal mask.

## Smallest experiment
Freeze one batch of rollouts and train only the critic on it: it must fit these returns.

## References
https://arxiv.org/abs/1506.02438
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

FINDINGS = {
    "critic-worse-than-mean": 0.85,
    "value-loss-growing": 0.4,
    "value-scale-mismatch": 0.4,
    "value-explosion": 0.2,
    "score-oscillates": 0.3,
    "reward-flat": 0.35,
    "score-lost": 0.25,
    "far-from-known-score": 0.3,
}
EXPERIMENT = Experiment(
    id="critic-only",
    overrides={"policy": "frozen"},
    length=0.1,
    measure="value.explained_variance",
    if_cause="does explained variance rise? no",
    weight=1.8,
)


def applies(inputs: Inputs) -> bool:
    """Only methods with a critic for advantages."""
    return inputs.get("family") in ("on_policy", None)
