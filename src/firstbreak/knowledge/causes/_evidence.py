"""Evidence for a cause and against it, as several of them give it."""

from __future__ import annotations

from firstbreak.engine.inputs import Inputs
from firstbreak.model import Weight, WeightKind

HALF = 0.5  #: of what was gained


def configured(finding: str, weight: float, text: str) -> Weight:
    """What the configuration or the kind of run says: `weight` nats for a cause, for the reason in `text`."""
    return Weight(kind=WeightKind.CONFIGURATION, finding=finding, weight=weight, text=text)


def stops_half_way(inputs: Inputs) -> list[Weight]:
    """A wrong sign drives the score back to its start and below; the fall does not stop half-way."""
    shape = inputs.trajectory
    if shape is None or not shape.lost or shape.drop_fraction >= HALF:
        return []
    return [configured("score-lost", -1.5, "the score keeps most of what it gained")]


def evaluated(inputs: Inputs) -> bool:
    """Only where something is evaluated."""
    return inputs.eval_score is not None
