"""The optimizer does not hold the critic's weights.

## What it looks for
The recorder looks which weights the optimizer holds, and which change. The check reports where more than `above` of the
weights that are named as a critic's (`critic`, `value`, `v_head`, `vf`) are neither in it nor changed by anything else.

## Why it matters
The critic stays as it was initialised, and the advantages keep all noise of the returns.

## When it is a false alarm
A critic that is frozen on purpose, without `requires_grad_(False)`.

## Fix
- Give the optimizer the critic's parameters, or the critic an optimizer of its own.

## Smallest experiment
Compare the critic's weights before and after one update: they must differ.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_critic_idle: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "A critic is trained as a whole."),
) -> Finding | None:
    return proved(
        proof_critic_idle,
        config,
        "{value:%} of the critic's weights are in no optimizer and stay as they were: give them to it",
        above=above,
    )
