"""Only good or only bad completions are trained.

## What it looks for
The recorder looks at the gradient of the loss by each token in the first update on a batch. The check reports where no token
with an advantage above 0 has one and nearly all others have, or the other way round.

## Why it matters
A policy that is only pushed away from what is bad, or only towards what is good, loses its variety or falls apart.

## When it is a false alarm
A method that trains on one sign on purpose, such as rejection sampling. Batches with fewer than eight tokens of a sign are
not judged.

## Fix
- Check the bounds of the clip: they lie round a ratio of 1, not round 0.
- Check whether minimum and maximum of the clipped and the unclipped term are the right way round.

## Smallest experiment
Print the gradient of one batch beside its advantages, before any optimizer step.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_gradient_one_sided: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "It is 0 or 1."),
) -> Finding | None:
    return proved(
        proof_gradient_one_sided,
        config,
        "the loss trains the completions of one sign of the advantage only: check the bounds of the clip",
        above=above,
    )
