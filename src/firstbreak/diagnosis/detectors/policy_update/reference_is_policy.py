"""Policy and reference share their weights.

## What it looks for
The recorder compares where the weights lie in memory. The check reports where more than `above` of the trainable
parameters are the reference's as well.

## Why it matters
The divergence is always 0: nothing holds the policy near its start.

## When it is a false alarm
None known.

## Fix
- Make the reference a copy: `copy.deepcopy(model)`, or load it a second time.

## Smallest experiment
Log the divergence after ten updates: it must not be 0.

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
    proof_reference_shared: Series,
    config: Config,
    *,
    above: Annotated[float, Threshold("share", "Models may share an embedding on purpose.", "convention")] = 0.5,
) -> Finding | None:
    return proved(
        proof_reference_shared,
        config,
        "{value:%} of the trainable weights are the reference's as well: make the reference a copy",
        above=above,
    )
