"""The evaluation was changed in mid-run

## What happens
Temperature, length limit, prompts or episode cap of the evaluation differ from some step on. The curve is two curves,
and the jump between them is no progress and no loss.

## When it is healthy
A jump that the training reward shows at the same step.

## Fix
- Fix and record the protocol; evaluate old checkpoints again under the new one.

## Smallest experiment
Evaluate the checkpoint from before the jump under today's protocol.

## References
https://arxiv.org/abs/1709.06009
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.6
FINDINGS = {
    "evaluation-protocol-shift": 0.85,
    "reward-up-evaluation-down": 0.4,
    "score-lost": 0.4,
}
EXPERIMENT = Experiment(
    id="locked-evaluation",
    overrides={"learning_rate": 0.0, "eval_interval": 1},
    length=0.1,
    measure="eval.reward",
    if_cause="does the score change its level although the weights do not? yes",
    weight=3.1,
)


def applies(inputs: Inputs) -> bool:
    """Only where something is evaluated."""
    return inputs.get("eval_score") is not None
