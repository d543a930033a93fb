"""The evaluation asks with symbols that no training prompt has.

## What it looks for
The recorder compares the characters of both sets of prompts. The check reports where more than `above` of the
evaluation's prompts have a character that the training never shows, beyond what chance explains.

## Why it matters
What is asked is not what is trained.

## When it is a false alarm
An evaluation of another language or task on purpose.

## Fix
- Look for a filter that is too strict, a file that was read in part, or rows that are not shuffled.

## Smallest experiment
Count the different characters of both sets of prompts.

## References
https://github.com/verl-project/verl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_prompt_unseen: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "Prompts of one distribution stay near 0."),
) -> Finding | None:
    return proved(
        proof_prompt_unseen,
        config,
        "{value:%} of the evaluation's prompts have a character that no training prompt has: look for a filter",
        above=above,
    )
