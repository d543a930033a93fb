"""Samples of a prompt are copies of each other.

## What it looks for
The check reports where pairs of a prompt's samples are equal more often than the policy's own probability of these
texts says, by more than `above` of the pairs; or by more than `small` of them on average and so many standard errors as `clear`
says, where single samples are as probable as the policy's entropy says.

## Why it matters
Equal samples have equal rewards, and a group of them has no advantage.

## When it is a false alarm
None known: a policy that is sure of its text expects equal samples. A colder distribution gives equal samples too, and its
samples are too probable one by one.

## Fix
- Sample (`do_sample`), with a temperature above 0, and one sample for each row.

## Smallest experiment
Print the completions of one prompt.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import on_average, proved, total
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)
SAID = "{value:%} more of a prompt's samples are equal than the policy's probabilities say: sample each row by itself"


def detect(
    proof_copies: Series,
    config: Config,
    proof_sampling_z: Series | None = None,
    *,
    above: float = at(0.6, "share", "A colder distribution gives up to half of the pairs; other checks see it."),
    small: float = at(0.1, "share", "Of the pairs: fewer copies cost little."),
    clear: float = at(6.0, "standard errors", "Six standard errors are one in a billion."),
) -> Finding | None:
    if found := proved(proof_copies, config, SAID, above=above):
        return found
    if proof_sampling_z is None or not len(proof_sampling_z.finite) or total(proof_sampling_z).min() < -clear:
        return None
    return on_average(proof_copies, config, SAID, above=small, clear=clear)
