"""What pages are written in: templates, tables and marks."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).with_name("templates")


def filled(name: str, **values: Any) -> str:
    """The page of templates/<name>.md.in with its `{placeholders}` filled in (`str.format`)."""
    return (TEMPLATES / f"{name}.md.in").read_text("utf-8").format(**values)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of one line each; what would end a cell is escaped."""
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (head, ["---"] * len(head), *rows))


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def folded(summary: str, body: str) -> str:
    """What a reader opens by a click."""
    return f"<details markdown>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def mark(yes: bool) -> str:
    """For a column in which the exceptions should stand out."""
    return "yes" if yes else "-"


def percent(share: float) -> str:
    """A share from 0 to 1 with one digit behind the point."""
    return f"{100 * share:.1f} %"
