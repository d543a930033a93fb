"""A completion's reward is another row's.

## What it looks for
The recorder scores completions again, alone and together, and known texts of each prompt. The check reports where
more than `above` of the scores depend on the rows beside them or on their place, or are the same for every text of a
prompt.

## Why it matters
A good completion is paid for what its neighbour wrote.

## When it is a false alarm
Rewards that rank the completions of a prompt on purpose.

## Fix
- Return the scores in the order of the completions, also from a pool of workers.
- Make prompt and completion the key of a cache.

## Smallest experiment
Score a batch of one, then the same completion in a batch of ten.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_moved: Series,
    config: Config,
    proof_reward_deaf: Series | None = None,
    *,
    above: float = at(0.0, "share", "A score of a completion alone is exact."),
) -> Finding | None:
    what = "{value:%} of the scores are those of other rows: return scores in the order of the completions"
    found = (proved(curve, config, what, above=above) for curve in (proof_reward_moved, proof_reward_deaf) if curve)
    return next((finding for finding in found if finding is not None), None)
