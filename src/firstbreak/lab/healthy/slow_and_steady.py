"""A third of the learning rate: everything moves slowly, in the right direction."""

from __future__ import annotations

from typing import Any

from firstbreak.lab import classic

BASES = ("language/grpo-sort", "language/grpo-tag", "classic/ppo-cartpole")


def vary(settings: Any) -> None:
    """Divide the learning rate by three."""
    if isinstance(settings, classic.Settings):
        settings.hyperparameters["learning_rate"] = "lin_1e-3"
    else:
        settings.lr /= 3
