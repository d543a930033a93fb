"""Sampled tokens are improbable for the policy that drew them.

## What it looks for
For tokens drawn from the policy, the mean of -log p(token) - H is 0. The check reports where it is more than `above`
standard errors above 0 in the first batch, before any update.

## Why it matters
The tokens that are trained on are not those that the policy drew.

## When it is a false alarm
None known: before the first update, weights cannot be old.

## Fix
- Train on the sampled tokens, not on text that is decoded and encoded again.
- Look for filters that replace tokens after the sampling.

## Smallest experiment
Compare the mean log-probability of the samples with minus the entropy, in the first batch.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from typing import Annotated

from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)
FOREIGN = "samples are {value} standard errors less probable than the policy's entropy says: compare sampled and trained tokens"


def detect(
    proof_sampling_z: Series,
    config: Config,
    *,
    above: Annotated[
        float, Threshold("standard errors", "Five standard errors are one in a million.", "convention")
    ] = 5.0,
) -> Finding | None:
    first = proof_sampling_z.finite.head(0.0)
    if not len(first) or first.values[0] <= above:
        return None
    return proved(first, config, FOREIGN, above=above)
