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

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, NotMeasured, Role, Series

ROLES = (Role.PROOF,)


def detect(
    config: Config,
    proof_reference_start: Series | None = None,
    proof_reference_gap: Series | None = None,
    *,
    above: float = at(0.05, "nats", "16-bit arithmetic gives 0.01."),
) -> Finding | NotMeasured | None:
    start = proof_reference_start if proof_reference_start is not None else _begun(proof_reference_gap)
    if start is None:
        return NotMeasured("policy and reference were not compared before the first update")
    return proved(
        start,
        config,
        "policy and reference differ by {value} nats a token before the first update: load the reference from the policy's start",
        above=above,
    )


def _begun(gap: Series | None) -> Series | None:
    """The first batch of a loop that began at its first step: no update was made by then."""
    points = gap.finite if gap is not None else None
    return points.head(0.0) if points is not None and len(points) and points.steps[0] <= 1 else None
