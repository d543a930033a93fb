"""What detectors and causes need, in a table: a run imports only those that can say something of it.

`knowledge/index.json` holds, for each file of knowledge/detectors and knowledge/causes, what its module says without being
asked, and what the tables of proofs (knowledge/detectors/<link>/proofs.toml) say beside their texts. `make docs` writes it. A
row holds as long as its file has the size that it had then: a file that was changed since, or that is new, is imported, as a
plug-in is. So there is no list to edit, and a row that is old costs time only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from firstbreak.engine.families import EVERY, UNKNOWN, Data, Families, Member, Method, Policy
from firstbreak.model import Link

HOME = Path(__file__).parents[1] / "knowledge"
INDEX = HOME / "index.json"
_MEMBERS: Mapping[str, Member] = {m.value: m for axis in (Policy, Method, Data) for m in axis} | {"unknown": UNKNOWN}
_VALUES: Mapping[Member, str] = {member: value for value, member in _MEMBERS.items()}

Row = Mapping[str, Any]


@cache
def _table() -> Mapping[str, Mapping[str, Row]]:
    return json.loads(INDEX.read_text("utf-8")) if INDEX.exists() else {}


def files(kind: str) -> Iterator[tuple[Link, str, int]]:
    """(link, name without its ending, bytes) of every file of one kind: "detectors" or "causes"."""
    for link in Link:
        folder = HOME / kind / link.value
        for entry in os.scandir(folder) if folder.is_dir() else ():
            if entry.name.endswith(".py") and not entry.name.startswith("_"):
                yield link, entry.name.removesuffix(".py"), entry.stat().st_size


def rows(kind: str) -> Iterator[tuple[Link, str, Row | None]]:
    """(link, module, its row) of every file of one kind; None where the table does not know the file as it is."""
    table = _table().get(kind, {})
    for link, name, size in files(kind):
        row = table.get(f"{link.value}/{name}")
        yield link, f"firstbreak.knowledge.{kind}.{link.value}.{name}", row if row and row["bytes"] == size else None


def proofs() -> Iterator[tuple[Link, int, Mapping[str, Row] | None]]:
    """(link, bytes, rows by id) of every table of proofs; None where the index does not know the table as it is."""
    for link in Link:
        file = HOME / "detectors" / link.value / "proofs.toml"
        if file.exists():
            size, known = file.stat().st_size, _table().get("proofs", {}).get(link.value)
            yield link, size, known["rows"] if known and known["bytes"] == size else None


@cache
def own(kind: str) -> frozenset[str]:
    """The ids of the detectors or causes that this package brings: those of plug-ins lie elsewhere."""
    import tomllib

    names = (name.replace("_", "-") for _, name, _ in files(kind))
    tables = (
        tomllib.loads((HOME / "detectors" / link.value / "proofs.toml").read_text("utf-8")) for link, _, _ in proofs()
    )
    return frozenset(names) | frozenset(name for table in tables for name in table if kind == "detectors")


def saved(families: Families) -> Mapping[str, Any]:
    """Families as a row of the table holds them."""
    if families == EVERY:
        return {}
    return {"families": sorted(_VALUES[m] for m in families.members), "why": families.why}


def families(row: Row) -> Families:
    """The families of a row."""
    if "families" not in row:
        return EVERY
    return Families(frozenset(_MEMBERS[value] for value in row["families"]), row.get("why", ""))


def written(kind: str, say: Callable[[str], Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """The table of one kind, as it has to be: `say` gives what a module says."""
    return {
        f"{link.value}/{name}": {"bytes": size, **say(f"firstbreak.knowledge.{kind}.{link.value}.{name}")}
        for link, name, size in sorted(files(kind), key=lambda file: (file[0].order, file[1]))
    }


def text(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The file: one line for each detector, cause and table, so that a change of one is a change of one line."""
    parts: Sequence[str] = [
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in table.items())
        + "\n}"
        for kind, table in tables.items()
    ]
    return "{" + ",\n".join(parts) + "}\n"
