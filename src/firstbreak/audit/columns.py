"""A table whose columns have names of their own: CSV, JSON lines or parquet, and what each column is.

`{"completion": "text", "reward": "score"}` says that the column `text` is the completion. What a column may be is in ROLES.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from firstbreak.model import Samples
from firstbreak.readers import Unreadable
from firstbreak.readers._json import loads
from firstbreak.readers._samples import samples_of
from firstbreak.readers._tail import Lines, open_file

ROLES = ("completion", "prompt", "reward", "step", "group", "advantage", "rewards")
BATCH = 64  #: rows of parquet, which may be megabytes each


def samples(path: Path, mapping: Mapping[str, str]) -> Samples:
    """The samples of a table, read again on every pass. Raises Unreadable where the columns are not there.

    `rewards` may name several columns, with commas between them: the components of the reward.
    """
    wrong = [role for role in mapping if role not in ROLES]
    if wrong or "completion" not in mapping:
        problem = f"{wrong[0]!r} is nothing that a column can be" if wrong else "no column is said to be the completion"
        raise Unreadable(path, problem, f"use --column completion=NAME, and any of {', '.join(ROLES[1:])}")
    first = next(_rows(path), None)
    if first is None:
        raise Unreadable(path, "holds no row", "give a table with one completion in each row")
    wanted = [name for role, names in mapping.items() for name in _names(role, names)]
    if absent := [name for name in wanted if name not in first]:
        found = ", ".join(map(str, list(first)[:12]))
        raise Unreadable(path, f"has no column {absent[0]!r}", f"its columns are: {found}")
    return Samples(lambda: samples_of((_renamed(row, mapping) for row in _rows(path)), path), (path.name,))


def _names(role: str, names: str) -> list[str]:
    return names.split(",") if role == "rewards" else [names]


def _renamed(row: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    used = {name for role, names in mapping.items() for name in _names(role, names)}
    record: dict[str, Any] = {name: value for name, value in row.items() if name not in used and name not in ROLES}
    for role, names in mapping.items():
        record[role] = {n: row.get(n) for n in _names(role, names)} if role == "rewards" else row.get(names)
    # "uid" and "response" are how a record with a group of its own is told; see readers/_samples.py.
    return {"prompt": None, **record, "uid": record.get("group"), "response": record["completion"]}


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    kind = path.suffix.lower()
    if kind == ".parquet":
        yield from _parquet(path)
    elif kind in (".csv", ".tsv"):
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # completions may be megabytes long
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            yield from csv.DictReader(file, delimiter="\t" if kind == ".tsv" else ",")
    else:
        with open_file(path) as file:
            lines = Lines(file)
            for block in lines.blocks():
                yield from _objects(block)
            yield from _objects(lines.rest())


def _objects(block: bytes) -> Iterator[Mapping[str, Any]]:
    for line in filter(None, map(bytes.strip, block.split(b"\n"))):
        try:
            record = loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise Unreadable(path, "is a parquet file", "install pyarrow: pip install 'firstbreak[parquet]'") from None
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            yield from batch.to_pylist()
