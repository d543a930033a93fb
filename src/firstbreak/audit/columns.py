"""Reads a table with any column names (CSV, JSON lines or parquet), given the role of each column.

`{"completion": "text", "reward": "score"}` says that the column `text` holds the completion. ROLES lists the roles.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from firstbreak.model import Sample, Samples
from firstbreak.readers import Unreadable, parquet, sample_dump
from firstbreak.readers._samples import Span, samples_of
from firstbreak.readers.opening import open_file

ROLES = ("completion", "prompt", "reward", "step", "group", "advantage", "rewards")


def samples(path: Path, mapping: Mapping[str, str]) -> Samples:
    """The samples of a table, read again on every pass. Raises Unreadable where a column is missing.

    A column that already has the name of its role need not be given. `rewards` may name several columns, separated by
    commas: the components of the reward.
    """
    first = next(_rows(path), None)
    if first is None:
        raise Unreadable(path, "has no rows", "give a table with one completion in each row")
    used = {name for role, names in mapping.items() for name in _names(role, names)}
    mapping = {**{role: role for role in ROLES[:-1] if role in first and role not in used}, **mapping}
    wrong = [role for role in mapping if role not in ROLES]
    if wrong or "completion" not in mapping:
        problem = f"{wrong[0]!r} is not a role of a column" if wrong else "no column has the role `completion`"
        raise Unreadable(path, problem, f"use --column completion=NAME, and any of {', '.join(ROLES[1:])}")
    wanted = [name for role, names in mapping.items() for name in _names(role, names)]
    if absent := [name for name in wanted if name not in first]:
        found = ", ".join(map(str, list(first)[:12]))
        raise Unreadable(path, f"has no column {absent[0]!r}", f"the columns are: {found}")
    whole = partial(_samples, path, mapping)
    return Samples(whole, (path.name,), lambda: [partial(whole, span) for span in _spans(path)] or [whole])


def _names(role: str, names: str) -> list[str]:
    return names.split(",") if role == "rewards" else [names]


def _renamed(row: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    used = {name for role, names in mapping.items() for name in _names(role, names)}
    record: dict[str, Any] = {name: value for name, value in row.items() if name not in used and name not in ROLES}
    for role, names in mapping.items():
        record[role] = {n: row.get(n) for n in _names(role, names)} if role == "rewards" else row.get(names)
    # "uid" and "response" mark a record with its own group; see readers/_samples.py.
    return {"prompt": None, **record, "uid": record.get("group"), "response": record["completion"]}


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


def _samples(path: Path, mapping: Mapping[str, str], span: Span | None = None) -> Iterator[Sample]:
    return samples_of((_renamed(row, mapping) for row in _rows(path, span)), path)
