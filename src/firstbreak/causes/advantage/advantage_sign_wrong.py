"""The advantages have the wrong sign

## What happens
Baseline minus return, or ascent on a loss: what was good is suppressed. The score falls below its start, while the
reward itself is sound.

## When it is healthy
A dip at the start.

## Fix
- Check one group by hand: the best completion must have the largest advantage.
- Check the sign of the loss.

## Smallest experiment
Overfit one prompt group: the probability of its best completion must rise.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

HALF = 0.5  #: of what was gained

PRIOR = 0.6
FINDINGS = {
    "advantages-turned-round": 0.8,
    "score-lost": 0.85,
    "score-below-start": 0.4,
    "advantages-not-centred": 0.3,
    "zero-variance-groups": 0.5,
    "entropy-runaway": 0.15,
    "length-runaway": 0.1,
    "far-from-known-score": 0.6,
}
EXPERIMENT = Experiment(
    id="reward-negated",
    overrides={"reward": "negated"},
    length=0.15,
    measure="reward.mean",
    if_cause="does the score rise with the sign turned? yes",
    weight=3.6,
)


def facts(inputs: Inputs) -> list[Weight]:
    """A sign that is wrong drives the score back to where it began and below; it does not stop half-way."""
    shape = inputs.get("trajectory")
    if shape is None or not shape.lost or shape.drop_fraction >= HALF:
        return []
    return [Weight(finding="score-lost", weight=-1.5, text="the score keeps most of what it gained")]


def applies(inputs: Inputs) -> bool:
    """Methods that learn a value and act by it have no advantages."""
    return bool(inputs.get("family") != "value_based")
