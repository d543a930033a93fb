"""The right answer gets less than an empty text.

## What it looks for
The recorder scores the right answer of a prompt and an empty text. The check reports where the right answer gets less
for more than `above` of the prompts.

## Why it matters
The reward points the wrong way.

## When it is a false alarm
A reward for a form that the bare answer does not have, and an empty text has: none is known.

## Fix
- Look for a cost or an error count that is returned where a reward is expected.

## Smallest experiment
Score a right and a wrong answer by hand.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_turned: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "A right answer is worth more than none."),
) -> Finding | None:
    return proved(
        proof_reward_turned,
        config,
        "the right answer of {value:%} of the prompts gets less than an empty text: check the sign of the reward",
        above=above,
    )
