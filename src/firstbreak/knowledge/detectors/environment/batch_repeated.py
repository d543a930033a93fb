"""Each batch has the prompts of the one before.

## What it looks for
The recorder counts the batches that had the same prompts in the same order. The check reports more than `above` of them. A
task of a few prompts is not asked.

## Why it matters
The policy learns a few prompts by heart, and nothing else.

## When it is a false alarm
A test in which one batch is fitted on purpose.

## Fix
- Look for a seed that is set in each step, and for an iterator over the data that is made anew in each step.

## Smallest experiment
Print the first prompt of ten batches.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_batch_repeated: Series,
    config: Config,
    *,
    above: int = at(3, "batches", "A batch may be scored again."),
) -> Finding | None:
    what = "the batch has the prompts of {value:n} batches before, in the same order: look at how a batch is made"
    return proved(proof_batch_repeated, config, what, above=above)
