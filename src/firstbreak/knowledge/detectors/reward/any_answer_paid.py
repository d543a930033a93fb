"""Another prompt's answer gets as much as the right one.

## What it looks for
The recorder scores the right answer of a prompt and another prompt's. The check reports where both get the same, and
more than an empty text, for more than `above` of the prompts.

## Why it matters
The reward pays for the form of an answer and does not check it.

## When it is a false alarm
Tasks whose prompts have the same answer; they are left out.

## Fix
- Check the weights of the reward functions and their order: the one that checks the answer must count.

## Smallest experiment
Score a wrong answer in the right form by hand.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_unread: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Answers of two prompts may agree."),
) -> Finding | None:
    return proved(
        proof_reward_unread,
        config,
        "another prompt's answer gets as much as the right one for {value:%} of the prompts: check the functions' weights",
        above=above,
    )
