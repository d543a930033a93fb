"""The evaluation does not use the weights that are trained

## What happens
The evaluated copy of the policy is not updated: an old checkpoint, an adapter that is not loaded, or an inference engine that
gets no new weights. The score stays the same while training goes on.

## When it is healthy
A score at its maximum stays the same too.

## Fix
- Compare a hash of the weights in the trainer with a hash of the weights in the evaluation.
- text: Check that the adapter is loaded where the evaluation runs.
- Check that the evaluation uses the model object that is trained, or loads the newest checkpoint each time.

## Smallest experiment
Set all weights of the trained policy to zero, and evaluate. If the score does not change, the evaluation uses other weights.

## References
https://github.com/verl-project/verl/issues/7495
"""

from firstbreak.knowledge.causes._evidence import evaluated

PRIOR = 0.4
FINDINGS = {
    "evaluation-frozen": 0.6,
    "evaluation-in-steps": 0.6,
}
EXPERIMENT = ("weight-hashes", "wrecked")
applies = evaluated
