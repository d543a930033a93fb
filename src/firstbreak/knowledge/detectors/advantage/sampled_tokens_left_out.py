"""Tokens that were sampled are not part of the loss.

## What it looks for
The recorder compares the mask of the loss, and the gradient of the loss by each token, with the tokens that were
sampled. The check reports where more than `above` of them have no weight in the first update on a batch, from the first
measured batch on.

## Why it matters
What is left out is never learned: without the end token, texts get longer and longer.

## When it is a false alarm
Rows and tokens that are left out on purpose, such as tool outputs; the recorder knows the trainer's own options for
them. A policy that drifts samples the padding token itself, and more and more of it: what begins later is not reported.

## Fix
- Set the mask to 1 from the first sampled token to the end token, that one included.

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
    proof_mask_missing: Series,
    config: Config,
    proof_gradient_missing: Series | None = None,
    *,
    above: float = at(0.005, "share", "A mask is exact."),
) -> Finding | None:
    what = (
        "{value:%} of the sampled tokens are not part of the loss: the mask must reach from the first token to the end"
    )
    from_start = [  # what begins later comes with what the policy samples
        curve
        for curve in (proof_mask_missing, proof_gradient_missing)
        if curve is not None and (curve.finite.values[:1] > above).any()
    ]
    return next(filter(None, (proved(curve, config, what, above=above) for curve in from_start)), None)
