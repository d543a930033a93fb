"""Tokens that were not sampled are part of the loss.

## What it looks for
The recorder compares the mask of the loss, and the gradient of the loss by each token, with the tokens that were
sampled. The check reports where more than `above` of the mask or of the gradient lies on the prompt, on padding or
after the end.

## Why it matters
The policy is trained on text that it did not write.

## When it is a false alarm
Training on prompts on purpose.

## Fix
- Set the mask to 1 from the first sampled token to the end token, and to 0 elsewhere.

## Smallest experiment
Print tokens and mask of one row side by side.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_mask_extra: Series,
    config: Config,
    proof_gradient_outside: Series | None = None,
    *,
    above: float = at(0.001, "share", "A mask is exact; the gradient of what is masked is 0."),
) -> Finding | None:
    what = "{value:%} of the loss lies on tokens that were not sampled: the mask must be 0 on prompt and padding"
    found = (proved(curve, config, what, above=above) for curve in (proof_mask_extra, proof_gradient_outside) if curve)
    return next((finding for finding in found if finding is not None), None)
