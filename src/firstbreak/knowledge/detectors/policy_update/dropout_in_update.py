"""Dropout changes the probabilities of the update.

## What it looks for
The recorder computes log-probabilities of the update's own tokens once more in evaluation mode. The check reports a
mean distance above `above` while a dropout layer is active.

## Why it matters
Ratio, divergence and reference margin are noise of that size, and the policy that samples is not the one that is
trained.

## When it is a false alarm
The dropout of an adapter, which is small and starts at no effect.

## Fix
- Set `disable_dropout=True`, or the dropout of the model's configuration to 0.

## Smallest experiment
Compute the log-probabilities of one batch twice: they must be equal.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_dropout: Series,
    config: Config,
    *,
    above: float = at(0.03, "nats", "Adapters with a dropout of 0.05 stay below."),
) -> Finding | None:
    return proved(
        proof_dropout,
        config,
        "dropout moves log-probabilities by {value} nats a token: switch it off in the update",
        above=above,
    )
