"""The reward has the wrong sign, or its labels are swapped

## What happens
The policy learns, but away from the goal: it becomes reliably worse than it was before training, and more certain of
it.

## When it is healthy
A score that dips below its start while the policy explores, and comes back.

## Fix
- Check the sign of every reward component against ten samples scored by hand.
- Check the order of chosen and rejected, and the direction of costs.

## Smallest experiment
Turn the sign of the reward for 20 updates: if the score now rises, the sign was the break.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

HALF = 0.5  #: of what was gained

FINDINGS = {
    "return-mirrored": 0.6,
    "reward-turns-round": 0.6,
    "reward-against-references": 0.3,
    "reward-range-changed": 0.6,
    "right-answers-unpaid": 0.3,
    "score-below-start": 0.5,
    "score-lost": 0.7,
    "zero-variance-groups": 0.3,
    "far-from-known-score": 0.6,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="reward.mean",
    if_cause="do right answers earn less than others' answers or nothing at all? yes",
    weight=3.9,
)


def facts(inputs: Inputs) -> list[Weight]:
    """A sign that is wrong drives the score back to where it began and below; it does not stop half-way."""
    shape = inputs.get("trajectory")
    if shape is None or not shape.lost or shape.drop_fraction >= HALF:
        return []
    return [Weight(finding="score-lost", weight=-1.5, text="the score keeps most of what it gained")]
