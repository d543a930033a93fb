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

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.6
LOOSE = 20.0  #: a cap above this does not bound anything
FINDINGS = {
    "behave-cap-never-acts": 0.8,
    "staleness-uncorrected": 0.5,
    "behave-weight-off": 0.7,
    "stale-rollouts": 0.4,
    "grad-norm-explosion": 0.3,
    "score-lost": 0.3,
    "gradient-vanished": 0.1,
}
EXPERIMENT = Experiment(
    id="process-probe",
    overrides={"learning_rate": "/10000", "watch": "process"},
    length=0.1,
    measure="behave.ratio.max",
    if_cause="are behaviour weights without a bound? yes",
    weight=3.5,
)


def facts(inputs: Inputs) -> list[Weight]:
    """Old data by plan, with a cap on their weights or without, and what one weight stands for."""
    config = inputs.run.config
    age, cap = config.number("max_staleness"), config.number("behave_weight_cap")
    if not age:
        return []
    whole = str(config.get("importance_level") or "").startswith("seq")
    if whole:
        return [Weight(finding="config", weight=2.0, text="one weight is the product over a whole sequence")]
    if cap is None or cap > LOOSE:
        return [
            Weight(finding="config", weight=2.0, text=f"data may be {age:g} versions old and weights are not capped")
        ]
    return [Weight(finding="config", weight=-2.0, text=f"weights are capped at {cap:g}")]
