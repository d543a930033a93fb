"""Large steps that pay: KL and clip fraction are far above the usual, and the task is solved."""

from __future__ import annotations

from typing import Any

from firstbreak.lab import classic

BASES = ("classic/ppo-cartpole", "language/grpo-tag")


def vary(settings: Any) -> None:
    """Twenty epochs of a batch, or twice the learning rate."""
    if isinstance(settings, classic.Settings):
        settings.hyperparameters["n_epochs"] = 20
    else:
        settings.lr *= 2
