"""Training prompts lack their end.

## What it looks for
The recorder compares the end of the prompts with that of the evaluation's. The check reports where more than `above`
of the training prompts are shorter and lack it.

## Why it matters
The question is cut off, and the answer is guessed.

## When it is a false alarm
An evaluation with longer prompts on purpose.

## Fix
- Raise the limit of the prompt's length, and cut on the left.

## Smallest experiment
Print the last characters of a prompt.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_prompt_cut: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Templates are exact."),
) -> Finding | None:
    return proved(
        proof_prompt_cut,
        config,
        "{value:%} of the training prompts lack the end that the evaluation's have: they are cut off",
        above=above,
    )
