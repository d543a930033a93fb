"""Large steps that work: KL and clip fraction are much larger than usual, and the task is solved."""

from typing import Any

from firstbreak_lab import classic

BASES = ("classic/ppo-cartpole", "language/grpo-tag")


def vary(settings: Any) -> None:
    """Twenty epochs per batch, or twice the learning rate."""
    if isinstance(settings, classic.ClassicSettings):
        settings.hyperparameters["n_epochs"] = 20
    else:
        settings.lr *= 2
