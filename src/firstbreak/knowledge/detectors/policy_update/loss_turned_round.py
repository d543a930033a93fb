"""The loss falls where good completions become less probable.

## What it looks for
The recorder looks at the gradient of the loss by the log-probability of each token. The check reports where more than
`above` of it has the sign that makes completions with a positive advantage (or the chosen text of a pair) less
probable.

## Why it matters
Each update does the opposite of what the advantages say.

## When it is a false alarm
None known: a penalty on the divergence pulls single tokens the other way, not most of the gradient.

## Fix
- Look for a minus sign that is missing, or there twice, between the objective and the loss.

## Smallest experiment
Train on one batch: after the update, its best completion must be more probable.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_gradient_turned: Series,
    config: Config,
    *,
    above: float = at(0.6, "share", "Penalties turn a part of the gradient when advantages are near 0."),
) -> Finding | None:
    return proved(
        proof_gradient_turned,
        config,
        "{value:%} of the loss's gradient makes good completions less probable: check the sign of the loss",
        above=above,
    )
