"""Small updates are lost in the rounding of the weights

## What happens
Weights kept in too few bits cannot hold a change of one part in a thousand: gradients flow, the norm looks right, and
the weights stay as they were.

## When it is healthy
A converged run.

## Fix
- Keep master weights in fp32.
- Raise {learning_rate} only after that.

## Smallest experiment
Compare a hash of the weights before and after ten updates.

## References
https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "reward-flat": 0.7,
    "entropy-stays-high": 0.3,
    "score-lost": 0.1,
}
EXPERIMENT = Experiment(
    id="full-precision",
    overrides={"precision": "fp32"},
    length=0.1,
    measure="kl.ref",
    if_cause="does the policy leave its reference faster than the control does? yes",
    weight=2.3,
)
