"""Clipping makes rewards equal that are not.

## What it looks for
The recorder compares rewards before and after the trainer's clip range. The check reports where more than `above` of the
groups with different rewards have one reward after clipping.

## Why it matters
Equal rewards have no advantage: nothing is learned from these groups.

## When it is a false alarm
None known.

## Fix
- Choose a range that the rewards lie in, or none.

## Smallest experiment
Train ten updates without the range: the spread of the rewards within a group must not be 0.

## References
https://huggingface.co/docs/trl/rloo_trainer
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_clipped: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "Single outliers are clipped on purpose."),
) -> Finding | None:
    what = "{value:%} of the groups with different rewards have one reward after clipping: widen the range"
    return proved(proof_reward_clipped, config, what, above=above)
