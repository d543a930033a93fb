"""Samples are older than the configuration allows, or newer than the trainer.

## What it looks for
The recorder compares the version that sampled each token with the trainer's. The check reports where more than `above` of
the tokens are older than the limit and one version, or newer than the trainer.

## Why it matters
The limit that keeps the data fresh is not in force, or versions are counted wrongly: what is corrected for is not what happened.

## When it is a false alarm
None known where the limit is the one in force.

## Fix
- Check that the version is raised at each update of the weights, on both sides.
- Drop samples that are too old when they are taken from the queue, and not only when they are begun.

## Smallest experiment
Train with an allowed age of 0: every sample must have the trainer's version.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_age_beyond: Series,
    config: Config,
    *,
    above: float = at(0.02, "share", "A single late sample is no fault of the limit."),
) -> Finding | None:
    return proved(
        proof_age_beyond,
        config,
        "{value:%} of the tokens are older than allowed, or newer than the trainer: compare the versions on both sides",
        above=above,
    )
