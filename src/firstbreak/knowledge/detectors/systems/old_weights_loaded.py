"""The weights of an earlier update are loaded again.

## What it looks for
The recorder keeps a few elements of some weights after every step of the optimizer, and looks at them before the next. The
check reports where they are exactly those of an earlier update.

## Why it matters
What was learned since then is lost.

## When it is a false alarm
A return to the best checkpoint on purpose.

## Fix
- Look for what loads a checkpoint, and for which one: the first one found is often the oldest.

## Smallest experiment
Print the step of the checkpoint that is loaded, beside the step of the training.

## References
https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_returned: Series,
    config: Config,
    *,
    above: float = at(0.0, "times", "Equal numbers are no chance."),
) -> Finding | None:
    what = "the weights of an earlier update came back, {value:n} times so far: look for what loads a checkpoint"
    return proved(proof_returned, config, what, above=above)
