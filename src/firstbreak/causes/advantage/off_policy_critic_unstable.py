"""The critic of the off-policy method is unstable

## What happens
Bootstrapped targets, function approximation and old data together have no guarantee. The critic overestimates,
forgets what is rare in the buffer, or chases a target that moves too fast, and the policy follows it.

## When it is healthy
A loss that grows with the value scale while the return is at its maximum. One bad evaluation among good ones.

## Fix
- Slower target network ({target_update_interval}); lower {learning_rate}.
- Larger buffer ({buffer_size}) and batch; twin critics or a smaller overestimation.
- Keep the best checkpoint by evaluation; evaluate on more episodes.

## Smallest experiment
Continue from the best checkpoint with {learning_rate} / 10: if the score holds, the critic was the break; print the
mean value beside the mean return.

## References
https://arxiv.org/abs/1812.02648
https://arxiv.org/abs/1802.09477
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 2.0
FINDINGS = {
    "score-lost": 0.6,
    "score-oscillates": 0.6,
    "value-loss-growing": 0.35,
    "value-explosion": 0.3,
    "evaluation-noise": 0.2,
    "members-apart": 0.6,
}
EXPERIMENT = Experiment(
    id="rate-tenth",
    overrides={"learning_rate": "/10"},
    length=0.15,
    measure="eval.reward",
    if_cause="is the score better than the original's at the same steps? yes",
    weight=2.1,
)


def applies(inputs: Inputs) -> bool:
    """Only methods that learn a value from a replay buffer."""
    return inputs.get("family") in ("value_based",)
