"""The learning rate stays far below the configured one.

## What it looks for
The recorder logs the rate in force as a share of the configured one. The check reports where it never passed `above`
in ten updates or more.

## Why it matters
Nothing is learned although everything else is right.

## When it is a false alarm
A long warm-up at the start of a much longer run.

## Fix
- Compare the warm-up with the number of updates of the run, not of the data set.

## Smallest experiment
Train ten updates with a constant rate.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)
MIN_POINTS = 10  #: updates (convention)


def detect(
    proof_rate_reached: Series,
    config: Config,
    *,
    above: float = at(0.02, "share", "A warm-up of a sound run passes it within a few updates."),
) -> Finding | None:
    reached = proof_rate_reached.finite
    if len(reached) < MIN_POINTS or float(reached.values.max()) > above:
        return None
    what = "the learning rate is {value} of the configured one: shorten the warm-up"
    return proved(reached, config, what, below=above)
