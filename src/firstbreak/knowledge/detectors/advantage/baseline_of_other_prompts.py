"""The baseline is made of other prompts' completions.

## What it looks for
The recorder computes the advantages of a batch again from its rewards. The check reports where they are those of a
baseline over the whole batch, or over groups that are cut across the prompts, in more than `above` of the rows.

## Why it matters
All completions of an easy prompt look good, and all of a hard one bad, whatever they say.

## When it is a false alarm
A baseline over the batch on purpose, as in REINFORCE++.

## Fix
- Check the shape in which rewards are grouped: (prompts, completions of a prompt), in the order of the batch.

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
    proof_advantage_regrouped: Series,
    config: Config,
    *,
    above: float = at(0.01, "share", "Rows whose advantage is the same with both baselines do not count."),
) -> Finding | None:
    return proved(
        proof_advantage_regrouped,
        config,
        "{value:%} of the rows have a baseline of other prompts' completions: check the shape in which rewards are grouped",
        above=above,
    )
