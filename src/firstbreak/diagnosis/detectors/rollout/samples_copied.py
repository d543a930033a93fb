"""Samples of a prompt are copies of each other.

## What it looks for
The check reports where pairs of a prompt's samples are equal more often than the policy's own probability of these
texts says, by more than `above` of the pairs.

## Why it matters
Equal samples have equal rewards, and a group of them has no advantage.

## When it is a false alarm
None known: a policy that is sure of its text expects equal samples.

## Fix
- Sample (`do_sample`), with a temperature above 0, and one sample for each row.

## Smallest experiment
Print the completions of one prompt.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from typing import Annotated

from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_copies: Series,
    config: Config,
    *,
    above: Annotated[
        float,
        Threshold("share", "A colder distribution gives up to half of the pairs; other checks see it.", "convention"),
    ] = 0.6,
) -> Finding | None:
    return proved(
        proof_copies,
        config,
        "{value:%} more of a prompt's samples are equal than the policy's probabilities say: sample each row by itself",
        above=above,
    )
