"""Gradients or values leave their range

## What happens
The largest gradient norms grow, values or log-probabilities become extreme, and at the end NaN or infinity appears. The
warning signs come before that.

## When it is healthy
A gradient norm that rises as the policy becomes more certain, with a score that rises. Single spikes that the clip catches.

## Fix
- Clip gradients ({grad_clip}).
- Lower {learning_rate}.
- Go back to a checkpoint before the onset.
- text: Use bf16 instead of fp16 ({precision}) or dynamic loss scaling, clamp log-probabilities, and check the masks.
- control: Compute losses in fp32, and check the scale of observations and actions.
- actor_critic, group_relative, value_based: Clip or normalise rewards and returns.

## Smallest experiment
Continue from the checkpoint before the onset with {learning_rate} / 10 for a tenth of the run: if the score holds, the
steps were too large. Also repeat the update before the onset in fp32: if the result is finite, precision is the cause, and
otherwise the batch is.

## References
https://arxiv.org/abs/1211.5063
"""

from __future__ import annotations

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Policy
from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight

OUT_OF_RANGE = 1e6  #: no loss of a language model has a gradient of this norm, however large the steps are

FINDINGS = {
    "logprob-extremes": 0.3,
    "non-finite-values": 0.7,
    "grad-norm-explosion": 0.7,
    "value-explosion": 0.4,
    "update-skipped": 0.4,
    "score-lost": 0.3,
}
SETTINGS = {"learning_rate": Side.HIGH, "grad_clip": Side.OFF}
EXPERIMENT = "rate-tenth"


def weights(inputs: Inputs) -> list[Weight]:
    """A norm that is out of range from the first logged update on, which large steps do not make."""
    norms = inputs.grad_norm
    if (
        inputs.policy is not Policy.TEXT
        or norms is None
        or not len(norms.finite)
        or norms.finite.values[0] < OUT_OF_RANGE
    ):
        return []
    return [configured("grad.norm", 2.0, f"the first gradient norm is {norms.finite.values[0]:.2g}")]
