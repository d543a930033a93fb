"""The learning rate is a multiple of the configured one.

## What it looks for
The recorder logs the rate in force as a share of the configured one. The check reports where it is more than `above`
times as large.

## Why it matters
Every step is larger than intended.

## When it is a false alarm
A cycle whose highest rate is set apart from the optimizer's.

## Fix
- Look for what sets the rate: a scheduler in the wrong unit, a restart with another configuration.

## Smallest experiment
Train ten updates with a constant rate.

## References
https://github.com/DLR-RM/stable-baselines3
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_rate_reached: Series,
    config: Config,
    *,
    above: float = at(2.0, "ratio", "Schedules scale the configured rate by at most 1."),
) -> Finding | None:
    return proved(
        proof_rate_reached,
        config,
        "the learning rate is {value} times the configured one: look for what sets it",
        above=above,
    )
