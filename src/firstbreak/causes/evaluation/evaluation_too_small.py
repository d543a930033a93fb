"""The evaluation is too small to show what it should

## What happens
Too few episodes or prompts stand behind each point, so the curve moves by luck. Checkpoints are then chosen by luck
as well.

## When it is healthy
A noisy curve whose trend is much larger than its noise.

## Fix
- More episodes or prompts per evaluation; the same ones every time.
- Report an interval with every score.

## Smallest experiment
Evaluate one checkpoint five times: the spread of the five is what a difference has to exceed.

## References
https://arxiv.org/abs/2108.13264
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.7
FINDINGS = {
    "evaluation-noise": 0.85,
    "score-oscillates": 0.3,
}
EXPERIMENT = Experiment(
    id="locked-evaluation",
    overrides={"learning_rate": 0.0, "eval_interval": 1},
    length=0.1,
    measure="eval.reward",
    if_cause="does it vary as much as between neighbouring evaluations of the run? yes",
    weight=2.0,
)


def applies(inputs: Inputs) -> bool:
    """Only where something is evaluated."""
    return inputs.get("eval_score") is not None
