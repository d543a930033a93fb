"""The learning rate falls to zero, and updates become smaller. The gradient norm falls because groups become equal."""

from typing import Any

BASES = ("language/grpo-reverse", "language/grpo-sort")


def vary(settings: Any) -> None:
    """Lower the learning rate linearly to 0."""
    for step in range(2, settings.steps + 1):
        settings.change(step, lr=settings.lr * (1 - step / settings.steps))
