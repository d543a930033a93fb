"""The policy is sure of itself from the first step, and still learns."""

from __future__ import annotations

from typing import Any

BASES = ("language/grpo-sort", "language/grpo-add")


def vary(settings: Any) -> None:
    """Teach for longer: entropy starts at a third of the usual."""
    settings.warmup_accuracy = 0.65
