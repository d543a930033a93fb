"""The verdicts are unreliable

## What happens
The verifier or judge errs at random. The signal shrinks by the share of errors, advantages carry noise, and the score
stays below what the model can do.

## When it is healthy
Sampling noise of small batches.

## Fix
- Grade the same completions twice and count the differences.
- Majority over several verdicts; drop flaky tests.

## Smallest experiment
Grade 100 completions three times.

## References
https://arxiv.org/abs/2510.00915
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "right-answers-unpaid": 0.75,
    "wrong-answers-paid": 0.75,
    "score-below-start": 0.3,
    "score-lost": 0.4,
    "reward-flat": 0.3,
    "evaluation-noise": 0.1,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="reward.mean",
    if_cause="are two verdicts on one completion different? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
