"""Some matrix of a model without adapters is trainable."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading

FEW = 0.02


def measure(trainable: float) -> Mapping[str, Reading]:
    """`trainable`: the share of the weights whose `requires_grad` is set."""
    said = f"{trainable:.2%} of the weights are trainable, no matrix among them, and the model has no adapter"
    return {"trainable": (trainable, said) if trainable < FEW else trainable}
