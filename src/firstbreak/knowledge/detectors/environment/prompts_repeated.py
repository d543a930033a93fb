"""The rows of the data hold the same few prompts.

## What it looks for
The recorder counts the prompts of the training rows. The check reports where more than `above` of the rows hold one of the
four most frequent prompts. A small task whose rows repeat more prompts than these is not reported.

## Why it matters
The policy learns these prompts by heart.

## When it is a false alarm
A study of a few prompts on purpose.

## Fix
- Look for a variable of a loop that is used after the loop, and for a filter that keeps one row.

## Smallest experiment
Count different prompts in the data set.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_prompt_repeated: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Rows of any task with more than a handful of prompts stay below."),
) -> Finding | None:
    return proved(
        proof_prompt_repeated,
        config,
        "{value:%} of the training rows hold one of four prompts: count the different prompts",
        above=above,
    )
