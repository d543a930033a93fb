"""The reference is not the policy at the start.

## What it looks for
Before the first update, the recorder compares the log-probabilities of policy and reference. The check reports a mean
distance above `above`.

## Why it matters
The penalty, or the margin of a pair, pulls the policy towards another model.

## When it is a false alarm
A policy that continues from a checkpoint, with the older model as its reference on purpose.

## Fix
- Load the weights of the reference, not only its configuration, from where the policy comes from.

## Smallest experiment
Log the divergence before the first update: it must be 0.

## References
https://arxiv.org/abs/2305.18290
"""

from __future__ import annotations

from typing import Annotated

from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reference_start: Series,
    config: Config,
    *,
    above: Annotated[float, Threshold("nats", "16-bit arithmetic gives 0.01.", "convention")] = 0.05,
) -> Finding | None:
    return proved(
        proof_reference_start,
        config,
        "policy and reference differ by {value} nats a token before the first update: load the reference from the policy's start",
        above=above,
    )
