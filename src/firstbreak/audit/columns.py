"""Reads a table with any column names (CSV, JSON lines or parquet), given the role of each column.

`{"completion": "text", "reward": "score"}` says that the column `text` holds the completion. ROLES lists the roles.
"""

import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from firstbreak.model import Sample, Samples
from firstbreak.readers import Unreadable, parquet, sample_dump
from firstbreak.readers._samples import REFERENCE, Shape, Span, number, samples_of, shape_of
from firstbreak.readers.opening import open_file
from firstbreak.values import replace

ROLES = ("completion", "prompt", "reward", "step", "group", "advantage", "answer", "rewards")
_PARTS = "parts of the reward"
Columns = Mapping[str, str]  #: role -> the column, or the columns, that have it


def samples(path: Path, mapping: Columns) -> Samples:
    """The samples of a table, read again on every pass. Raises Unreadable where a column is missing.

    A column that already has the name of its role need not be given. `rewards` may name several columns, separated by
    commas: the components of the reward.
    """
    first = next(_rows(path), None)
    if first is None:
        raise Unreadable(path, "has no rows", "give a table with one completion in each row")
    if wrong := next((role for role in mapping if role not in ROLES), None):
        raise Unreadable(path, f"{wrong!r} is not a role of a column", f"the roles are: {', '.join(ROLES)}")
    if "completion" not in mapping and (shape := shape_of(first)) is not None:
        return _known(path, shape, first, mapping)
    used = {name for role, names in mapping.items() for name in _names(role, names)}
    mapping = {**{role: role for role in ROLES[:-1] if role in first and role not in used}, **mapping}
    if "completion" not in mapping:
        raise Unreadable(path, "no column has the role `completion`", "use --column completion=NAME")
    return _whole(path, partial(_samples, path, mapping), first, mapping)


def _known(path: Path, shape: Shape, first: Mapping[str, Any], mapping: Columns) -> Samples:
    """The samples of a dump whose shape is known, with other columns for some roles."""
    roles: dict[str, Any] = {role: name for role, name in mapping.items() if role not in ("answer", "rewards")}
    shape = replace(shape, **roles | ({"rewards": _PARTS} if "rewards" in mapping else {}))
    return _whole(path, partial(_of_shape, path, shape, mapping), first, mapping)


def _whole(path: Path, read: Callable[..., Iterator[Sample]], first: Mapping[str, Any], mapping: Columns) -> Samples:
    """The samples of all rows. Raises Unreadable where the first one lacks a column that was named."""
    wanted = [name for role, names in mapping.items() for name in _names(role, names)]
    if absent := [name for name in wanted if name not in first]:
        found = ", ".join(map(str, list(first)[:12]))
        raise Unreadable(path, f"has no column {absent[0]!r}", f"the columns are: {found}")
    return Samples(read, (path.name,), lambda: [partial(read, span) for span in _spans(path)] or [read])


def _of_shape(path: Path, shape: Shape, mapping: Columns, span: Span | None = None) -> Iterator[Sample]:
    names = {_PARTS if role == "rewards" else role: role for role in ("answer", "rewards") if role in mapping}
    found = ({**row, **{n: _cell(row, role, mapping) for n, role in names.items()}} for row in _rows(path, span))
    return samples_of(found, path, shape)


def _cell(row: Mapping[str, Any], role: str, mapping: Columns) -> Any:
    names = mapping[role]
    return {name: row.get(name) for name in _names(role, names)} if role == "rewards" else row.get(names)


def _names(role: str, names: str) -> list[str]:
    return names.split(",") if role == "rewards" else [names]


def _renamed(row: Mapping[str, Any], mapping: Columns) -> dict[str, Any]:
    used = {name for role, names in mapping.items() for name in _names(role, names)}
    others = {name: value for name, value in row.items() if name not in used and name not in ROLES}
    record: dict[str, Any] = {name: value if name in REFERENCE else _value(value) for name, value in others.items()}
    record |= {role: _cell(row, role, mapping) for role in mapping}
    # "uid" and "response" mark a record with its own group; see readers/_samples.py.
    return {"prompt": None, **record, "uid": record.get("group"), "response": record["completion"]}


def _value(cell: Any) -> Any:
    """A number or a verdict that a table holds as text."""
    if not isinstance(cell, str):
        return cell
    if (word := cell.strip().lower()) in ("true", "false"):
        return word == "true"
    found = number(cell)
    return cell if found is None or not math.isfinite(found) else found


def _rows(path: Path, span: Span | None = None) -> Iterator[Mapping[str, Any]]:
    match path.suffix.lower():
        case ".parquet":
            return parquet.rows(path, span)
        case ".csv" | ".tsv":
            return _cells(path)
    return (record for record in sample_dump.records(path, span) if isinstance(record, dict))


def _cells(path: Path) -> Iterator[Mapping[str, Any]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # completions may be megabytes long
    with open_file(path) as file, io.TextIOWrapper(file, "utf-8", "replace", newline="") as text:
        yield from csv.DictReader(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")


def _spans(path: Path) -> list[Span]:
    """Parts of a table that can be read separately. A CSV has none, because a cell may contain newlines."""
    match path.suffix.lower():
        case ".parquet":
            return parquet.parts(path)
        case ".csv" | ".tsv":
            return []
    return sample_dump.parts(path)


def _samples(path: Path, mapping: Columns, span: Span | None = None) -> Iterator[Sample]:
    return samples_of((_renamed(row, mapping) for row in _rows(path, span)), path)
