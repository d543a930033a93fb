"""Right answers stand beside other prompts.

## What it looks for
The recorder looks for completions that are the right answer of some prompt of the data. The check reports where more
than `above` of them are another prompt's and not their own.

## Why it matters
The policy is right, and is told that it is wrong.

## When it is a false alarm
A policy that is hardly ever right, and few different answers; the recorder asks for many.

## Fix
- Check every sort, shuffle and filter of the data: prompts and answers must move together.

## Smallest experiment
Solve five prompts by hand, and compare with their answers.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Series


def detect(
    proof_reference_elsewhere: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "By chance, wrong completions are other prompts' answers."),
) -> Finding | None:
    return proved(
        proof_reference_elsewhere,
        config,
        "{value:%} of the prompts whose completions agree have another prompt's answer: check how prompts and answers were moved",
        above=above,
    )
