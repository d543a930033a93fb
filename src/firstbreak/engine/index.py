"""What detectors and causes need, in a table: a run imports only those that can say something of it.

`knowledge/index.json` holds, for each file of knowledge/detectors, what its module says without being asked, and what the
tables of proofs, causes and experiments (`TABLES`) say beside their texts.
`make docs` writes it. A row holds as long as its file has the size that it had then: a file that was changed since, or that is
new, is imported or parsed. So there is no list to edit, and a row that is old costs time only.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from firstbreak.engine.families import EVERY, NAMED, Families, Member
from firstbreak.model import Link
from firstbreak.plugins import identity

HOME = Path(__file__).parents[1] / "knowledge"
INDEX = HOME / "index.json"
#: kind -> the table of a link; experiments belong to none, and have one
TABLES = {"proofs": "detectors/{}/proofs.toml", "causes": "causes/{}.toml", "experiments": "experiments/{}.toml"}
CATALOGUE = "catalogue"  #: the table of experiments
_VALUES: Mapping[Member, str] = {members[0]: name for name, members in NAMED.items() if len(members) == 1}

Row = Mapping[str, Any]


@cache
def _table() -> Mapping[str, Mapping[str, Row]]:
    return json.loads(INDEX.read_text("utf-8")) if INDEX.exists() else {}


def files() -> Iterator[tuple[Link, str, int]]:
    """(link, name without its ending, bytes) of every file of a detector."""
    for link in Link:
        folder = HOME / "detectors" / link.value
        for entry in os.scandir(folder) if folder.is_dir() else ():
            if entry.name.endswith(".py") and not entry.name.startswith("_"):
                yield link, entry.name.removesuffix(".py"), entry.stat().st_size


def rows() -> Iterator[tuple[Link, str, Row | None]]:
    """(link, module, its row) of every file of a detector; None where the index does not know the file as it is."""
    known = _table().get("detectors", {})
    for link, name, size in files():
        row = known.get(f"{link.value}/{name}")
        yield link, _module(link, name), row if row and row["bytes"] == size else None


def _module(link: Link, name: str) -> str:
    return f"firstbreak.knowledge.detectors.{link.value}.{name}"


def file_of(kind: str, name: str) -> Path:
    """The table of one kind: "proofs" or "causes" of a link, or the "experiments" of the `CATALOGUE`."""
    return HOME / TABLES[kind].format(name)


def table(kind: str, name: str) -> tuple[int, Mapping[str, Row] | None]:
    """Bytes and rows by id of a table; None where the index does not know the table as it is."""
    size, known = file_of(kind, name).stat().st_size, _table().get(kind, {}).get(name)
    return size, known["rows"] if known and known["bytes"] == size else None


def tables(kind: str) -> Iterator[tuple[Link, int, Mapping[str, Row] | None]]:
    """(link, bytes, rows by id) of every table of one kind that links have."""
    for link in Link:
        if file_of(kind, link).exists():
            yield link, *table(kind, link)


@cache
def own(kind: str) -> frozenset[str]:
    """The ids of the detectors or causes that this package brings: those of plug-ins lie elsewhere."""
    import tomllib

    of = "causes" if kind == "causes" else "proofs"
    listed = [rows or tomllib.loads(file_of(of, link).read_text("utf-8")) for link, _, rows in tables(of)]
    names = (identity(name) for _, name, _ in files() if kind == "detectors")
    return frozenset(names).union(*listed)


def saved(families: Families) -> Mapping[str, Any]:
    """Families as a row of the table holds them."""
    if families == EVERY:
        return {}
    return {"families": sorted(_VALUES[m] for m in families.members), "why": families.why}


def families(row: Row) -> Families:
    """The families of a row."""
    if "families" not in row:
        return EVERY
    return Families(frozenset(NAMED[value][0] for value in row["families"]), row.get("why", ""))


def written(say: Callable[[str], Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """The rows of the detectors, as they have to be: `say` gives what a module says."""
    return {
        f"{link.value}/{name}": {"bytes": size, **say(_module(link, name))}
        for link, name, size in sorted(files(), key=lambda file: (file[0].order, file[1]))
    }


def text(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The file: one line for each detector and table, so that a change of one is a change of one line."""
    parts: Sequence[str] = [
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in table.items())
        + "\n}"
        for kind, table in tables.items()
    ]
    return "{" + ",\n".join(parts) + "}\n"
