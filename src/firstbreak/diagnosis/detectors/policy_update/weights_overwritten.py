"""Something else than the optimizer changes the weights.

## What it looks for
The recorder compares the weights at the beginning of an update with those at the end of the update before. The check
reports where more than `above` of them differ.

## Why it matters
What an update learns is lost.

## When it is a false alarm
Averaged weights that are copied into the policy on purpose.

## Fix
- Look for callbacks that load, average or synchronise weights after a step.

## Smallest experiment
Compare a hash of the weights after one update with the hash before the next.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from typing import Annotated

from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_overwritten: Series,
    config: Config,
    *,
    above: Annotated[float, Threshold("share", "Single buffers may be rewritten.", "convention")] = 0.5,
) -> Finding | None:
    return proved(
        proof_overwritten,
        config,
        "{value:%} of the weights change between two updates: look for a callback that loads weights",
        above=above,
    )
