"""An empty text gets what the right answer gets.

## What it looks for
The recorder scores the right answer of a prompt, an empty text and the completions. The check reports where all get
the same reward above 0, or an empty text as much as the best completion and others less, for more than `above` of the prompts.

## Why it matters
The reward does not look at the answer, or an empty one passes.

## When it is a false alarm
None known.

## Fix
- Look at what the completion is compared with: an empty column, an empty match, an exception that counts as success.

## Smallest experiment
Score an empty text by hand.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_open: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Single prompts may have an empty answer."),
) -> Finding | None:
    return proved(
        proof_reward_open,
        config,
        "an empty text gets what the right answer gets, for {value:%} of the prompts: see what texts are compared with",
        above=above,
    )
