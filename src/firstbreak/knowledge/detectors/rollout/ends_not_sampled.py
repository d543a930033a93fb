"""The end of a text is never sampled although the policy gives it probability.

## What it looks for
The recorder adds up the probability of the end token over the sampled positions. The check reports where more than
`above` of the expected ends are missing over the measured batches.

## Why it matters
Every completion runs to the length limit, and the end is never learned.

## When it is a false alarm
None known.

## Fix
- Remove the end token from the suppressed tokens, and check `min_new_tokens` and the list of end tokens.

## Smallest experiment
Sample one completion with the trainer's own options, and print its tokens.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_ends_missing: Series,
    config: Config,
    *,
    above: float = at(0.6, "share", "Of the ends that are expected, chance removes less."),
) -> Finding | None:
    points = proof_ends_missing.finite
    if not len(points) or float(np.median(points.values)) <= above:
        return None
    what = "{value:%} of the expected ends were not sampled: look for suppressed tokens"
    return proved(points, config, what, above=above)
