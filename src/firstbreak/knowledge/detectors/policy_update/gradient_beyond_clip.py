"""Tokens beyond the clip range keep their gradient.

## What it looks for
The recorder looks at tokens whose ratio has left the configured range in the direction of their advantage: their
gradient must be 0. The check reports where more than `above` of them have that of an unclipped token.

## Why it matters
Nothing limits how far the updates on one batch move the policy.

## When it is a false alarm
An objective without a clip, or with another range for one side.

## Fix
- Take the minimum of the clipped and the unclipped objective, before the mean.
- Check that {clip_range} is the one in force.

## Smallest experiment
Count the tokens beyond the range after the last minibatch of a batch: they must stop growing.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_clip_open: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "The clip sets the gradient to exactly 0."),
) -> Finding | None:
    return proved(
        proof_clip_open,
        config,
        "{value:%} of the tokens beyond the clip range keep their whole gradient: the clip is not in the loss",
        above=above,
    )
