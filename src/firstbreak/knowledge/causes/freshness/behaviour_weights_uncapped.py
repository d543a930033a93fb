"""The correction for old data is not bounded

## What happens
The weights that divide the new by the old probability are multiplied over a sequence, or have no cap. A few sequences
decide the whole batch, or the weights fall towards 0 and nothing is learned.

## When it is healthy
Weights near 1 that rarely reach the cap.

## Fix
- text: Cap the weights ({behave_weight_cap}, about 2 to 5), per token and not per sequence.
- control: Cap the importance weights of old data ({behave_weight_cap}, about 2 to 5).
- actor_critic, group_relative: Lower {max_staleness}.
- Log the largest weight before the cap.

## Smallest experiment
Run a tenth of the run with a learning rate of nearly 0, and check which cap is in force. Then continue with
{behave_weight_cap} = 5, and log the weights before the cap.

## References
https://arxiv.org/abs/2505.24298
https://github.com/NVIDIA-NeMo/RL/issues/2269
"""

from __future__ import annotations

from firstbreak.engine.common_settings import Side
from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.knowledge.causes.freshness._elsewhere import data_from_elsewhere
from firstbreak.model import Weight

PRIOR = 0.6
LOOSE = 20.0  #: a cap above this does not bound anything
applies = data_from_elsewhere
FINDINGS = {
    "behave-cap-never-acts": 0.8,
    "staleness-uncorrected": 0.5,
    "behave-weight-off": 0.7,
    "stale-rollouts": 0.4,
    "grad-norm-explosion": 0.3,
    "score-lost": 0.3,
    "gradient-vanished": 0.1,
}
SETTINGS = {"max_staleness": Side.HIGH}
EXPERIMENT = "process-probe"


def weights(inputs: Inputs) -> list[Weight]:
    """Old data by plan, with a cap on their weights or without, and what one weight stands for."""
    config = inputs.run.config
    age, cap = config.number("max_staleness"), config.number("behave_weight_cap")
    if not age:
        return []
    whole = str(config.get("importance_level") or "").startswith("seq")
    if whole:
        return [configured("config", 2.0, "one weight is the product over a whole sequence")]
    if cap is None or cap > LOOSE:
        return [configured("config", 2.0, f"data may be {age:g} versions old and weights are not capped")]
    return [configured("config", -2.0, f"weights are capped at {cap:g}")]
