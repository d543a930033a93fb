"""Nothing is changed: the healthy twin of every fault."""

from __future__ import annotations

from typing import Any

from firstbreak.lab.bases import BASES as ALL

BASES = tuple(ALL)


def vary(settings: Any) -> None:
    """Leave everything as it is."""
