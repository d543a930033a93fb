"""Right and wrong completions of a prompt get the same reward.

## What it looks for
The recorder looks for prompts with completions that are right and others that are wrong. The check reports where all of them
get the same reward for more than `above` of these prompts.

## Why it matters
Equal rewards have no advantage: what is right is never learned.

## When it is a false alarm
A reward that asks for a form which no completion has yet.

## Fix
- Look for a cache whose key is the prompt alone.
- Score a right and a wrong completion of one prompt by hand.

## Smallest experiment
Score a right and a wrong completion of one prompt in one call of the trainer's own function.

## References
https://docs.python.org/3/library/functools.html#functools.lru_cache
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_blind: Series,
    config: Config,
    *,
    above: float = at(0.75, "share", "Verdicts that fail now and then are equal as well."),
) -> Finding | None:
    what = "for {value:%} of the prompts right and wrong completions get the same reward: score two by hand"
    return proved(proof_reward_blind, config, what, above=above)
