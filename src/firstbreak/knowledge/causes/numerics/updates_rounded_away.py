"""Small updates are lost in the rounding of the weights

## What happens
Weights with too few bits cannot store a change of one part in a thousand: there are gradients, their norm looks right, and
the weights stay as they were.

## When it is healthy
A converged run.

## Fix
- Keep master weights in fp32.
- Raise {learning_rate} only after that.

## Smallest experiment
Train for a tenth of the run in fp32: if the score rises faster, the updates were rounded away. Also compare a hash of the
weights before and after ten updates.

## References
https://arxiv.org/abs/1710.03740
"""

from firstbreak.engine.common_settings import Side

PRIOR = 0.4
FINDINGS = {
    "updates-rounded": 0.9,
    "weights-shortened": 0.8,
    "reward-flat": 0.7,
    "entropy-stays-high": 0.3,
    "score-lost": 0.1,
}
SETTINGS = {"learning_rate": Side.LOW}
EXPERIMENT = "full-precision"
