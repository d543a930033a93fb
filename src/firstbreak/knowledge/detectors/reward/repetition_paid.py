"""A completion gets more when it is repeated.

## What it looks for
The recorder scores completions and the same texts written twice. The check reports where the longer text gets more
for more than `above` of the prompts.

## Why it matters
The reward pays for length, and completions get longer until they are cut.

## When it is a false alarm
A reward for length on purpose, with a limit.

## Fix
- Pay for the answer, and penalise the length beyond what it needs.

## Smallest experiment
Score one text, and the same text twice.

## References
https://arxiv.org/abs/2503.20783
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_longer: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Repeating a text adds nothing to its answer."),
) -> Finding | None:
    return proved(
        proof_reward_longer,
        config,
        "a text that is repeated gets more for {value:%} of the prompts: correct the reward for length",
        above=above,
    )
