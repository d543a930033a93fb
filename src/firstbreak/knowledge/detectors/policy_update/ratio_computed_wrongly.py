"""The ratio is not the new probability over the old one.

## What it looks for
The recorder computes the ratio of a minibatch again from both log-probabilities. The check reports a mean distance above
`above`, as a share of the ratio.

## Why it matters
The clip and the gradient follow another number: with the ratio upside down, good actions become less probable.

## When it is a false alarm
A ratio that is weighted or cut before it is given to the recorder.

## Fix
- Compute `ratio = (newlogprob - logprob).exp()`, with the log-probabilities of the same rows.

## Smallest experiment
Print both log-probabilities and the ratio of five rows.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_ratio_error: Series,
    config: Config,
    *,
    above: float = at(0.01, "share", "Single precision gives 1e-6."),
) -> Finding | None:
    return proved(
        proof_ratio_error,
        config,
        "the ratio differs by {value:%} from exp(new - old log-probability): compute it from the same rows",
        above=above,
    )
