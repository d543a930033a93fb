"""Equal completions of one prompt get different rewards.

## What it looks for
The recorder compares completions of a prompt that are letter by letter the same. The check reports where more than `above` of
them get another reward than the first one of the same batch.

## Why it matters
The reward depends on something else than the text: its place in the batch, its neighbours, or chance. Half of the advantages
then point the wrong way.

## When it is a false alarm
Rewards that compare completions with each other on purpose, such as a bonus for what is new.

## Fix
- Score one text twice in one call of the reward function, at two places.
- Look for `sort`, `argsort`, `as_completed` and caches in the reward function.

## Smallest experiment
Score a batch of eight equal texts by hand: there must be one number.

## References
https://huggingface.co/docs/trl/rewards
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_twins: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "Of a judge that errs in one verdict of ten, 18 % differ."),
) -> Finding | None:
    what = "{value:%} of the completions that are equal get different rewards: score one text twice in one call"
    return proved(proof_reward_twins, config, what, above=above)
