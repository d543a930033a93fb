"""Checks that are a row of a table: an identity of the recorder that lies beyond a limit.

<link>/proofs.toml has one table for each, by its id:

- `proof`: the signal without `proof.`; `limit`: side ("above" or "below"), value, unit, why so much, and the source where it
  is no convention; `says`: the message, in which `{value}` is the first number that failed.
- `title` and the texts of the page (`PAGE`), one line each; `fix` and `references` may be lists.
- `roles`, where it is not ["proof"].
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from firstbreak.engine.checks import Check, at
from firstbreak.engine.inputs import known
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Link, Role
from firstbreak.plugins import BadPlugin

PAGE = {
    "looks_for": "What it looks for",
    "why": "Why it matters",
    "false_alarm": "When it is a false alarm",
    "fix": "Fix",
    "experiment": "Smallest experiment",
    "references": "References",
}


@cache
def proofs(link: Link) -> Mapping[str, Check]:
    """The rows of a link's table as checks, by id. Raises BadPlugin where a row names no signal."""
    file = Path(__file__).parent / link.value / "proofs.toml"
    return {name: _check(name, link, row, file) for name, row in tomllib.loads(file.read_text("utf-8")).items()}


def _check(name: str, link: Link, row: Mapping[str, Any], file: Path) -> Check:
    need = f"proof_{row['proof']}"
    if not known(need):
        raise BadPlugin(f"{file}: [{name}]: {row['proof']!r} is no signal of the recorder")
    side, *said = row["limit"]
    return Check(
        id=name,
        link=link,
        title=row["title"],
        doc="\n\n".join([row["title"], *(f"## {heading}\n{_text(row[key])}" for key, heading in PAGE.items())]),
        ask=_asked(need, row["says"], side, said[0]),
        needs=(need, "config"),
        thresholds={side: at(*said).threshold},
        roles=frozenset(map(Role, row.get("roles", [Role.PROOF]))),
    )


def _text(said: str | Sequence[str]) -> str:
    """A text, or the lines of a list, as a docstring holds it."""
    lines = [said] if isinstance(said, str) else said
    options: Any = {"subsequent_indent": "  " if lines is said else "", "break_long_words": False}
    return "\n".join(fill(line, 120, break_on_hyphens=False, **options) for line in lines)


def _asked(need: str, says: str, side: str, value: float) -> Callable[..., Finding | None]:
    def ask(config: Config, **given: Any) -> Finding | None:
        return proved(given[need], config, says, **{side: given.get(side, value)})

    return ask
