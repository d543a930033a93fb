"""Three evaluations in the entire run."""

from typing import Any

BASES = ("language/grpo-sort", "language/grpo-add", "language/ppo-sort")


def vary(settings: Any) -> None:
    """Evaluate every fifty steps."""
    settings.eval_every = 50
