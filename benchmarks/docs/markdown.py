"""What pages are written in: tables and marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of one line each; what would end a cell is escaped."""
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (head, ["---"] * len(head), *rows))


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def mark(yes: bool) -> str:
    """For a column in which the exceptions should stand out."""
    return "yes" if yes else "-"


def percent(share: float) -> str:
    """A share from 0 to 1 with one digit behind the point."""
    return f"{100 * share:.1f} %"
