"""A run goes on with other weights than its checkpoint had.

## What it looks for
With TRL, the recorder keeps a few elements of some weights for each checkpoint. When a run goes on from there, it compares them
with the weights then. The check reports where more than `above` of them differ.

## Why it matters
What was learned before the restart is lost, or in part, and the log goes on as if it were not.

## When it is a false alarm
None known.

## Fix
- Load with `strict=True`, and read the names that are missing: `module.` and `_orig_mod.` are prefixes that wrappers add.

## Smallest experiment
Evaluate the checkpoint, restart, and evaluate again before the first update.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_resumed_otherwise: Series,
    config: Config,
    *,
    above: float = at(0.05, "share", "What a checkpoint keeps in 16 bits is nearer."),
) -> Finding | None:
    what = (
        "{value:%} of the weights are not those of the checkpoint that the run went on from: load it with strict=True"
    )
    return proved(proof_resumed_otherwise, config, what, above=above)
