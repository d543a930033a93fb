"""Training prompts have another template than the evaluation's.

## What it looks for
The recorder compares the beginning and the end of the prompts. The check reports where more than `above` of the
training prompts lack what all prompts of the evaluation have in common.

## Why it matters
What is learned in one template is asked in another.

## When it is a false alarm
An evaluation of another task on purpose.

## Fix
- Make the prompts of training and evaluation with one function.

## Smallest experiment
Print one prompt of each.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_prompt_unlike: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Templates are exact."),
) -> Finding | None:
    return proved(
        proof_prompt_unlike,
        config,
        "{value:%} of the training prompts lack the evaluation's common beginning or end: use one template",
        above=above,
    )
