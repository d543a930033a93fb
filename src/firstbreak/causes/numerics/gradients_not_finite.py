"""Gradients overflow, and steps are skipped

## What happens
Half precision or a masked logarithm of 0 makes a gradient infinite; the optimiser skips the step. The more steps are
skipped, the less is learned, and nothing in the loss says so.

## When it is healthy
A few skipped steps while a dynamic loss scale settles.

## Fix
- bf16 instead of fp16; clamp log-probabilities; check masks for fully masked rows.
- Lower the loss scale.

## Smallest experiment
Repeat a skipped update in fp32.

## References
https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.8
FINDINGS = {
    "update-skipped": 0.9,
    "non-finite-values": 0.6,
    "grad-norm-explosion": 0.3,
    "reward-flat": 0.3,
    "score-lost": 0.2,
    "truncation": 0.25,  # weights that are NaN write one and the same token up to the limit, whatever the prompt
    "zero-variance-groups": 0.25,
}
EXPERIMENT = Experiment(
    id="process-probe",
    overrides={"learning_rate": "/10000", "watch": "process"},
    length=0.1,
    measure="optim.update_ok",
    if_cause="are gradients not finite? yes",
    weight=3.9,
)
