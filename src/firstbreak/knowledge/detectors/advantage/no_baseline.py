"""The reward itself is used as the advantage.

## What it looks for
The recorder computes the advantages of a batch again from its rewards. The check reports where they are the rewards,
up to a factor, in more than `above` of the rows.

## Why it matters
With rewards that are never negative, every completion is made more probable, the wrong ones as well.

## When it is a false alarm
REINFORCE without a baseline on purpose.

## Fix
- Subtract the mean reward of the prompt's completions.

## Smallest experiment
Log the mean advantage of each prompt: it must be 0.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_advantage_raw: Series,
    config: Config,
    *,
    above: float = at(0.01, "share", "Rows whose group has a mean of 0 do not count."),
) -> Finding | None:
    return proved(
        proof_advantage_raw,
        config,
        "{value:%} of the rows have their reward as advantage, without a baseline: subtract the mean of the prompt's rewards",
        above=above,
    )
