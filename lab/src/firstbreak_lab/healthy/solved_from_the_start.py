"""The task is nearly solved before training: flat curves at the top, equal groups, entropy near 0."""

from typing import Any

BASES = ("language/grpo-reverse", "language/ppo-sort", "language/grpo-tag")


def vary(settings: Any) -> None:
    """Warm up until nine of ten samples are right."""
    settings.warmup_accuracy = 0.9
