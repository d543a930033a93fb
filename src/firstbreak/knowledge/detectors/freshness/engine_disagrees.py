"""The engine and the trainer give the same tokens different probabilities.

## What it looks for
The recorder compares the log-probabilities that the sampling engine returned with those of the trainer for the same tokens
and, where versions are known, the same weights. The check reports a mean distance above `above`.

## Why it matters
The policy that is updated is not the one that sampled: the gradient is that of other data.

## When it is a false alarm
Log-probabilities that the engine returns after temperature or top-p, beside plain ones of the trainer, where only one of them
is used.

## Fix
- Compare both on the same fifty completions, token by token: temperature, precision, chat template, end of text.
- Reset the engine's prefix cache at each update of the weights.

## Smallest experiment
Run a tenth of the run with a learning rate of 0: the distance must stay at that of the arithmetic.

## References
https://fengyao.notion.site/off-policy-rl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_engine_gap: Series,
    config: Config,
    *,
    above: float = at(0.2, "nats per token", "Engines in 16 bits differ by 0.01 to 0.05."),
) -> Finding | None:
    return proved(
        proof_engine_gap,
        config,
        "engine and trainer differ by {value} nats a token on the same tokens: compare temperature, precision and weights",
        above=above,
    )
