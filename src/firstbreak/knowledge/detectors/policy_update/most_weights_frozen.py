"""Hardly any weight of a model without adapters is trainable.

## What it looks for
The recorder counts the weights whose `requires_grad` is set before the first update. The check reports a share below `below`,
where no matrix is among them and the model has no adapters: a last layer or a head may be trained alone on purpose.

## Why it matters
Norms and biases alone cannot learn a task.

## When it is a false alarm
Training of biases alone, on purpose.

## Fix
- Print the names of the trainable parameters: a filter by name has met too many.

## Smallest experiment
Train ten updates with all parameters: does the score move?

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_trainable: Series,
    config: Config,
    *,
    below: float = at(0.02, "share", "Norms and biases of all usual models are fewer."),
) -> Finding | None:
    what = "{value:%} of the weights are trainable: print the names of the trainable parameters"
    return proved(proof_trainable, config, what, below=below)
