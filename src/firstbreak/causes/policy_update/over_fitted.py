"""The model learns its examples by heart

## What happens
Supervised training passes over the same examples too often, or over too few of them. The training loss falls in a step
at the beginning of each pass, and the held-out loss turns and rises.

## When it is healthy
The held-out loss rises a little in the last pass, and generations still improve.

## Fix
- Go back to the checkpoint with the lowest held-out loss; fewer passes over the data ({total_epochs}).
- More or more varied data; a lower {learning_rate}; a smaller adapter, dropout or {weight_decay}.

## Smallest experiment
Train again up to the step of the lowest held-out loss on twice the data, or on half of it: an optimum that moves with
the amount of data is over-fitting.

## References
https://arxiv.org/abs/2203.02155
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

FINDINGS = {
    "overfitting": 0.9,
    "score-lost": 0.5,
}
EXPERIMENT = Experiment(
    id="rate-tenth",
    overrides={"learning_rate": "/10"},
    length=0.15,
    measure="eval.loss",
    if_cause="does the score still fall? no",
    weight=0.2,
)


def applies(inputs: Inputs) -> bool:
    """Only supervised training has a held-out loss for its score."""
    return bool(inputs.get("supervised"))
