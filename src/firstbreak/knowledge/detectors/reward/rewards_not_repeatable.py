"""The same completion gets another reward in a second call.

## What it looks for
The recorder scores the completions of a batch a second time. The check reports where more than `above` of them get
another score.

## Why it matters
Noise of a judge is learned as if it were quality, and hides what is.

## When it is a false alarm
A judge that samples on purpose, with an average over several calls.

## Fix
- Set the judge's temperature to 0 and its seed, or average several calls.

## Smallest experiment
Score ten completions twice.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_noisy: Series,
    config: Config,
    *,
    above: float = at(0.05, "share", "A function that is exact repeats every score."),
) -> Finding | None:
    return proved(
        proof_reward_noisy,
        config,
        "{value:%} of the completions get another score in a second call: make the judge deterministic",
        above=above,
    )
