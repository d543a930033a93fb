"""The old log-probabilities are not those of the sampling policy

## What happens
The old log-probabilities are computed again in every minibatch, by a network in training mode or after an update. The
ratio is always 1 or never right, so the clip bounds nothing.

## When it is healthy
One update per batch: the ratio is 1 by construction.

## Fix
- Store the log-probabilities when sampling, before any update.
- Switch dropout off when log-probabilities are computed.

## Smallest experiment
Compute the log-probabilities of one batch twice with the same weights: both results must be equal.

actor_critic, group_relative: Two minibatches with a large learning rate: the ratio of the second must differ from 1, the
ratio of the first must not.

## References
https://github.com/OpenRLHF/OpenRLHF/issues/931
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import stored_right_at_first

PRIOR = 0.5
FAMILIES = without(Method.SUPERVISED)  # only where a policy is updated on its own samples
FINDINGS = {
    "ratio-not-one": 0.9,
    "ratio-computed-wrongly": 0.9,
    "first-update-not-on-policy": 0.4,
    "ratio-always-one": 0.8,
    "step-too-large": 0.3,
    "score-lost": 0.5,
    "far-from-known-score": 0.3,
}
REFUTED_BY = (stored_right_at_first,)
EXPERIMENT = ("one-epoch", "process-probe")
