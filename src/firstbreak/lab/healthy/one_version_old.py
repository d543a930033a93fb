"""Rollouts one policy version old, with the decoupled loss: behaviour weights spread a little, and all is well."""

from __future__ import annotations

from typing import Any

BASES = ("language/async-sort",)


def vary(settings: Any) -> None:
    """One version."""
    settings.max_head_offpolicyness = 1
