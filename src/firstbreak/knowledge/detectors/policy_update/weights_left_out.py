"""Trainable weights are not part of the update.

## What it looks for
The recorder asks of each trainable parameter whether the optimizer holds it and whether it has a gradient, and of
each adapter whether it can be trained. The check reports where more than `above` of the weights are left out.

## Why it matters
Nothing is learned, or a small part of the model learns alone.

## When it is a false alarm
Towers of a model for images that a text does not use.

## Fix
- Make the optimizer after the model is final, and give it `model.parameters()`.
- Look for code that clears gradients before the step, and for adapters that were frozen with their base.

## Smallest experiment
Compare a hash of the weights before and after one update.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_untrained: Series,
    config: Config,
    proof_frozen: Series | None = None,
    *,
    above: float = at(0.5, "share", "Small parts may be unused, or frozen on purpose."),
) -> Finding | None:
    what = "{value:%} of the weights that should learn are not part of the update: check optimizer and gradients"
    found = (proved(curve, config, what, above=above) for curve in (proof_untrained, proof_frozen) if curve)
    return next((finding for finding in found if finding is not None), None)
