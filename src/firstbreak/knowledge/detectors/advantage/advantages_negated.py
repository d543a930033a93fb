"""Advantages have the opposite sign of what the rewards give.

## What it looks for
The recorder computes the advantages of a batch again from its rewards. The check reports where more than `above` of
them have the opposite sign.

## Why it matters
The policy learns to do what was worse than the other completions of its prompt.

## When it is a false alarm
None known: the sign does not depend on how advantages are scaled.

## Fix
- Look for a minus sign, or an absolute value, between reward and loss: baseline minus reward, or a cost that is used
  as a reward.

## Smallest experiment
Train on one prompt with a reward that is 1 for one word: after an update, that word must be more probable.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_advantage_turned: Series,
    config: Config,
    *,
    above: float = at(0.05, "share", "Arithmetic turns no sign of an advantage that is clearly not 0."),
) -> Finding | None:
    return proved(
        proof_advantage_turned,
        config,
        "{value:%} of the advantages have the opposite sign of what the rewards give: look for a minus sign",
        above=above,
    )
