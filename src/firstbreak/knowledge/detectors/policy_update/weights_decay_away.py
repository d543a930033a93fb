"""Weight decay takes more than an update gives.

## What it looks for
A step of Adam changes a weight by about the learning rate at most, and a weight decay beside it by learning rate x decay x
weight. Weights above 1 / decay shrink, whatever their gradient is. The check reports where they make up more than `above` of
the sum of the weights' sizes.

## Why it matters
The policy loses what it was trained for before.

## When it is a false alarm
Training from random weights, which are to be small.

## Fix
- Set {weight_decay} to 0.1 or less.

## Smallest experiment
Log the norm of the weights over ten updates: it must not fall.

## References
https://arxiv.org/abs/1711.05101
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_decaying: Series,
    config: Config,
    *,
    above: float = at(0.25, "share", "Scales of norms are near 1, and few."),
) -> Finding | None:
    what = "weight decay takes more than an update can give from {value:%} of the weights: lower it"
    return proved(proof_decaying, config, what, above=above)
