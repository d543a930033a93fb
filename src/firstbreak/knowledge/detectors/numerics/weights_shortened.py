"""Weights lose bits after the optimizer's step.

## What it looks for
The recorder keeps a few weights after a step and looks at them again before the next one. The check reports where
more than `above` of them are the same numbers in fewer bits.

## Why it matters
Small updates are lost, or become jumps.

## When it is a false alarm
Training that simulates quantisation on purpose.

## Fix
- Keep the weights that the optimizer changes in 32 bits, and round a copy for the sampler.

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
    proof_shortened: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "Nothing rounds the weights of a sound run."),
) -> Finding | None:
    return proved(
        proof_shortened,
        config,
        "{value:%} of the weights lose bits between two updates: keep those of the optimizer in 32 bits",
        above=above,
    )
