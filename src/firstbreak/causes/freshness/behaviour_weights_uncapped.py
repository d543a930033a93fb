"""The correction for old data is not bounded

## What happens
Weights that divide new by old probability are summed over a sequence or left without a cap. A few sequences carry the
whole batch, or the weights sink towards 0 and carry nothing.

## When it is healthy
Weights near 1 with a rare cap hit.

## Fix
- Cap them ({behave_weight_cap} around 2 to 5), per token rather than per sequence.
- Lower {max_staleness}.

## Smallest experiment
{behave_weight_cap} = 5 for a tenth of the run; log the weights before the cap.

## References
https://arxiv.org/abs/2505.24298
https://github.com/NVIDIA-NeMo/RL/issues/2269
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.6
FINDINGS = {
    "behave-weight-off": 0.85,
    "stale-rollouts": 0.4,
    "grad-norm-explosion": 0.3,
    "score-lost": 0.4,
    "gradient-vanished": 0.2,
}
EXPERIMENT = Experiment(
    id="capped-weights",
    overrides={"behave_weight_cap": 5.0},
    length=0.15,
    measure="behave.ratio.max",
    if_cause="does the score rise? yes",
    weight=1.0,
)
