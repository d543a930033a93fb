"""The policy drifts from its reference and gains nothing

## What happens
The run has had what the data can give. The weights still move, the divergence grows, and the score stands still or
turns.

## When it is healthy
Divergence that grows with the score; a divergence that stands still.

## Fix
- Stop, and take the best checkpoint by evaluation.
- Raise {kl_coef}, lower {learning_rate}, or decay it.
- New data, if more is wanted.

## Smallest experiment
Continue from the best checkpoint for a tenth of the run with {learning_rate} / 10.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

FINDINGS = {
    "kl-reward": 0.9,
    "score-lost": 0.4,
    "reward-flat": 0.3,
}
EXPERIMENT = Experiment(
    id="stronger-kl",
    overrides={"kl_coef": 0.5},
    length=0.25,
    measure="kl.ref",
    if_cause="is the evaluation better than the control's? yes",
    weight=1.4,
)


def applies(inputs: Inputs) -> bool:
    """Methods with a reference or old policy."""
    return inputs.get("family") in ("group", "on_policy", None) and not inputs.get("supervised")
