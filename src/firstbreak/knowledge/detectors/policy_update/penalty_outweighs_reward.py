"""The penalty decides the sign of many completions, not their reward.

## What it looks for
The recorder adds up the penalties that were taken off the tokens of each completion, and compares them with its reward.
The check reports where they are larger and turn the sign for more than `above` of the completions.

## Why it matters
What the reward calls better is made less probable.

## When it is a false alarm
A penalty on purpose, such as a return to the reference after an unlearning.

## Fix
- Lower {kl_coef}, by ten first.

## Smallest experiment
Train ten updates without the penalty: if the score rises, the penalty was the cause.

## References
https://arxiv.org/abs/1909.08593
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_penalty_turned: Series,
    config: Config,
    *,
    above: float = at(
        0.2, "share", "Sound runs of the lab stay below 0.14.", "lab, 78 healthy runs of the language trainers"
    ),
) -> Finding | None:
    return proved(
        proof_penalty_turned,
        config,
        "for {value:%} of the completions the penalty is larger than the reward and of the other sign: lower its weight",
        above=above,
    )
