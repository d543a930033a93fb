"""The ratio is not 1 before the first update on a batch.

## What it looks for
The recorder compares the stored log-probabilities of a batch with those of its first forward pass. The check reports
a mean distance of the ratio from 1 above `above`.

## Why it matters
Stored and computed probabilities do not belong together, and the clip removes the wrong tokens.

## When it is a false alarm
Two engines with different arithmetic, where the difference is corrected for.

## Fix
- Compute both with the same temperature, the same mask and the same tokens.
- Switch dropout off.

## Smallest experiment
Train with a learning rate of 0: the ratio must stay exactly 1.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_ratio_first: Series,
    config: Config,
    *,
    above: float = at(0.02, "ratio", "16-bit arithmetic in batches of other sizes gives up to 0.01."),
) -> Finding | None:
    return proved(
        proof_ratio_first,
        config,
        "the ratio is {value} away from 1 before the first update on a batch: compute both log-probabilities in the same way",
        above=above,
    )
