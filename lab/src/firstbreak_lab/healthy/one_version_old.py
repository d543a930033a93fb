"""Rollouts one policy version old, with the decoupled loss: behaviour weights spread a little, and training works."""

from typing import Any

BASES = ("language/async-sort",)


def vary(settings: Any) -> None:
    """Allow rollouts that are one version old."""
    settings.max_head_offpolicyness = 1
