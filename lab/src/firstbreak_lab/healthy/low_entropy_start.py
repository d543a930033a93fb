"""The policy has a low entropy from the first step, and still learns."""

from typing import Any

BASES = ("language/grpo-sort", "language/grpo-add")


def vary(settings: Any) -> None:
    """A longer warm-up: entropy starts at a third of the usual value."""
    settings.warmup_accuracy = 0.65
