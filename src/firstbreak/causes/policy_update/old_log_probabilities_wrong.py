"""The old log-probabilities are not those of the sampling policy

## What happens
They are computed again in every minibatch, by a network in training mode or after an update. The ratio is always 1 or
never right, so the clip bounds nothing.

## When it is healthy
One update per batch: the ratio is 1 by construction.

## Fix
- Store the log-probabilities when sampling, before any update.
- Switch dropout off when they are computed.

## Smallest experiment
Two minibatches with a large learning rate: the ratio of the second must differ from 1, that of the first must not.

## References
https://github.com/OpenRLHF/OpenRLHF/issues/931
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "first-update-not-on-policy": 0.4,
    "ratio-always-one": 0.8,
    "step-too-large": 0.3,
    "score-lost": 0.5,
    "far-from-known-score": 0.3,
}
EXPERIMENT = Experiment(
    id="one-epoch",
    overrides={"epochs_per_batch": 1},
    length=0.15,
    measure="kl.old",
    if_cause="is the divergence from the policy that made the batch smaller than the control's? no",
    weight=1.9,
)


def applies(inputs: Inputs) -> bool:
    """Only where a policy is updated on its own samples."""
    return not inputs.get("supervised")
