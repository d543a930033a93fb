"""Nothing is changed: the healthy run with which every fault is compared."""

from typing import Any

from firstbreak_lab.bases import BASES as ALL

BASES = tuple(ALL)


def vary(settings: Any) -> None:
    """Change nothing."""
