"""Dropout is active where log-probabilities are compared

## What happens
The policy gives a token another probability in every pass. The ratio is not 1 before the first update, and divergences are
noise.

## When it is healthy
The small dropout of an adapter.

## Fix
- Set `disable_dropout=True`, or the dropout of the model's configuration to 0.

## Smallest experiment
Compute the log-probabilities of one batch twice: they must be equal.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.diagnosis.families import SAMPLED, Policy, only
from firstbreak.diagnosis.refutations import without_dropout
from firstbreak.diagnosis.refutations import recorded_inside as applies

__all__ = ["applies"]

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *SAMPLED)  # only policies that write text, from samples or pairs
FINDINGS = {
    "dropout-in-update": 0.95,
    "ratio-not-one": 0.5,
    "reference-not-initial": 0.7,
    "samples-edited": 0.5,
    "samples-of-other-weights": 0.2,
    "update-against-advantages": 0.1,
    "step-far": 0.1,
}
REFUTED_BY = (without_dropout,)
EXPERIMENT = ("first-ratio", "usual-settings")
