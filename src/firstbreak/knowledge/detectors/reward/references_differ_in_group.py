"""The completions of one prompt are scored against several right answers.

## What it looks for
The recorder compares the right answers within a group of completions of one prompt. The check reports where more than
`above` of the groups have several.

## Why it matters
Most completions are scored against the answer of another prompt, and the difference within a group is no merit.

## When it is a false alarm
A prompt with several right answers of which each row is given another one.

## Fix
- Repeat answers as prompts are repeated: each one next to itself (`repeat_interleave`), not the whole list again.

## Smallest experiment
Print prompt, completion and right answer of the first ten rows of a batch.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reference_split: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "A prompt has one right answer."),
) -> Finding | None:
    return proved(
        proof_reference_split,
        config,
        "in {value:%} of the groups, completions of one prompt are scored against several right answers: repeat prompts and "
        "answers in the same order",
        above=above,
    )
