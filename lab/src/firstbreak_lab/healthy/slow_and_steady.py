"""A third of the learning rate: all curves change slowly, in the right direction."""

from typing import Any

from firstbreak_lab import classic

BASES = ("language/grpo-sort", "language/grpo-tag", "classic/ppo-cartpole")


def vary(settings: Any) -> None:
    """Divide the learning rate by three."""
    if isinstance(settings, classic.ClassicSettings):
        settings.hyperparameters["learning_rate"] = "lin_1e-3"
    else:
        settings.lr /= 3
