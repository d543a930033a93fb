"""The evaluation does not see the weights that are trained

## What happens
The evaluated copy of the policy is not updated (an old checkpoint, an adapter that is not loaded, a frozen inference
engine), so its score stands still while training moves.

## When it is healthy
A score at its ceiling stands still too.

## Fix
- Compare a hash of the weights in trainer and evaluator.
- Check that the adapter is loaded where the evaluation runs.

## Smallest experiment
Set all weights of the trained policy to zero and evaluate: if the score does not change, the evaluation looks at
something else.

## References
https://github.com/verl-project/verl/issues/7495
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "evaluation-frozen": 0.6,
    "evaluation-in-steps": 0.6,
}
EXPERIMENT = Experiment(
    id="weight-hashes",
    overrides={"watch": "weights"},
    length=0.1,
    measure="eval.reward",
    if_cause="does the evaluation hold other weights than the trainer? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Only where something is evaluated."""
    return inputs.get("eval_score") is not None
