"""Updates are lost to rounding.

## What it looks for
The recorder compares weights that have a gradient before and after an update. The check reports where more than
`above` of them are bit for bit the same.

## Why it matters
The learning rate is smaller than the distance of two numbers of the weights' format: nothing is learned.

## When it is a false alarm
None known while the learning rate is not 0.

## Fix
- Keep the weights of the optimizer in 32 bits, or use an optimizer with stochastic rounding.

## Smallest experiment
Train ten updates with the weights in 32 bits.

## References
https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_rounded: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "In 32 bits, hardly any update is lost."),
) -> Finding | None:
    return proved(
        proof_rounded,
        config,
        "{value:%} of the weights with a gradient are unchanged by an update: keep the trained weights in 32 bits",
        above=above,
    )
