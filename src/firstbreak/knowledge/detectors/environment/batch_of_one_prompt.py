"""All groups of a batch have the same prompt.

## What it looks for
The recorder compares the prompts of the groups of a batch, where there are four groups or more. The check reports where
more than `above` of them have one prompt. A task of a few training prompts is not asked.

## Why it matters
The update fits one prompt, and the policy forgets the others.

## When it is a false alarm
One prompt a batch on purpose.

## Fix
- Look at the index of the prompt in the loop that makes a batch, and for a variable that is used after its loop.

## Smallest experiment
Count the different prompts of a batch.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_prompt_everywhere: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Four prompts that are drawn from five are rarely one."),
) -> Finding | None:
    return proved(
        proof_prompt_everywhere,
        config,
        "{value:%} of the groups of a batch have the same prompt: look at how a batch is made",
        above=above,
    )
