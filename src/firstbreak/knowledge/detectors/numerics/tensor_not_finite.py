"""A tensor of the update holds a number that is not finite.

## What it looks for
The recorder checks advantages, stored log-probabilities, the policy's output, the loss and the gradients, in this
order. The check names the first that is not finite.

## Why it matters
One such number in the loss spoils every weight.

## When it is a false alarm
A scaler of mixed precision, which skips single updates on purpose.

## Fix
- Look at the tensor that is named first: logarithms of 0, divisions by an empty mask, overflow in 16 bits.

## Smallest experiment
Run the update once more with `torch.autograd.set_detect_anomaly(True)`.

## References
https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_nonfinite: Series,
    config: Config,
    *,
    above: float = at(0.0, "stages", "A number is finite or it is not."),
) -> Finding | None:
    return proved(
        proof_nonfinite,
        config,
        "a tensor of the update is not finite: look at the one that is named first",
        above=above,
    )
