"""Gradients or values leave their range

## What happens
Gradient norm tails grow, values or log-probabilities become extreme, and at the end NaN or infinity appears. The
warning signs come before it.

## When it is healthy
A gradient norm that rises as the policy sharpens, with a score that rises; single spikes that the clip catches.

## Fix
- Go back to before the onset; clip gradients ({grad_clip}); lower {learning_rate}.
- bf16 instead of fp16, or dynamic loss scaling; clamp log-probabilities; check masks.
- Clip or normalise rewards and returns.

## Smallest experiment
Repeat the update before the onset from the last checkpoint in fp32: if it stays finite, precision is the cause; if
not, the batch is.

## References
https://arxiv.org/abs/1211.5063
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

OUT_OF_RANGE = 1e6  #: no loss of a language model has a gradient of this norm, however large the steps are

FINDINGS = {
    "logprob-extremes": 0.3,
    "non-finite-values": 0.7,
    "grad-norm-explosion": 0.7,
    "value-explosion": 0.4,
    "update-skipped": 0.4,
    "score-lost": 0.3,
}
EXPERIMENT = Experiment(
    id="rate-tenth",
    overrides={"learning_rate": "/10"},
    length=0.15,
    measure="grad.norm",
    if_cause="is the score better than the original's at the same steps? yes",
    weight=2.3,
)


def facts(inputs: Inputs) -> list[Weight]:
    """A norm that is out of range from the first logged update on, which large steps do not make."""
    norms = inputs.get("grad_norm")
    if not inputs.get("writes_text") or norms is None or not len(norms.finite) or norms.finite.values[0] < OUT_OF_RANGE:
        return []
    return [Weight(finding="grad.norm", weight=2.0, text=f"the first gradient norm is {norms.finite.values[0]:.2g}")]
