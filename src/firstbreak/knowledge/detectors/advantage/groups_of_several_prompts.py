"""A group holds completions of several prompts.

## What it looks for
The recorder compares the prompts of a group's rows. The check reports where more than `above` of the groups have more
than one.

## Why it matters
The baseline of a group compares completions that have nothing in common.

## When it is a false alarm
None known.

## Fix
- Use the trainer's own sampler, which repeats each prompt as often as a group has completions.
- Check what shuffles or filters rows before the rewards are grouped.

## Smallest experiment
Print the prompts of the first group of a batch: all must be equal.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_group_mixed: Series,
    config: Config,
    *,
    above: float = at(0.0, "share", "Equal prompts are equal texts."),
) -> Finding | None:
    return proved(
        proof_group_mixed,
        config,
        "{value:%} of the groups hold completions of several prompts: check the sampler and every shuffle of rows",
        above=above,
    )
