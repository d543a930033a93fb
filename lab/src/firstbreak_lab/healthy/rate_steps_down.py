"""A schedule divides the learning rate by five half-way: KL and clip fraction step down, the score does not."""

from typing import Any

BASES = ("language/grpo-sort", "language/ppo-sort", "language/grpo-tag")


def vary(settings: Any) -> None:
    """Divide the learning rate by five at half of the run."""
    settings.change(settings.steps // 2, lr=settings.lr / 5)
