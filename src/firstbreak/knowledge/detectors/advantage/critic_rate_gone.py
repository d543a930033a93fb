"""The critic's learning rate stays far below the configured one.

## What it looks for
The recorder logs the critic's rate in force as a share of the configured one. The check reports where it never passed `above`
in ten updates or more.

## Why it matters
The critic stays where it began, and the advantages are as noisy as the returns.

## When it is a false alarm
A long warm-up at the start of a much longer run.

## Fix
- Look at the rate that reaches the critic's parameters, and whether they are in an optimizer.

## Smallest experiment
Train ten updates with a constant rate.

## References
https://arxiv.org/abs/1506.02438
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)
MIN_POINTS = 10  #: updates (convention)


def detect(
    proof_critic_rate_reached: Series,
    config: Config,
    *,
    above: float = at(0.02, "share", "A warm-up of a sound run passes it within a few updates."),
) -> Finding | None:
    reached = proof_critic_rate_reached.finite
    if len(reached) < MIN_POINTS or float(reached.values.max()) > above:
        return None
    what = "the learning rate of the critic is {value} of the configured one: look for what sets it"
    return proved(reached, config, what, below=above)
