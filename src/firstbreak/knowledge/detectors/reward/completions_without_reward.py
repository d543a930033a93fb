"""Completions have no reward.

## What it looks for
The recorder looks at the rewards of each completion. The check reports where more than `above` of the completions of
a batch were scored by no function.

## Why it matters
What is not scored is taken for average, or spoils its group.

## When it is a false alarm
Rows that are left without a reward on purpose.

## Fix
- Look at the row that is named: a parser that gives up, an exception that becomes None, a division by 0.
- Give an answer that cannot be parsed a reward of its own.

## Smallest experiment
Score the named completion by hand.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_missing: Series,
    config: Config,
    *,
    above: float = at(0.05, "share", "Single outages of a judge are no fault of the loop."),
) -> Finding | None:
    return proved(
        proof_reward_missing, config, "{value:%} of the completions have no reward: look at the named row", above=above
    )
