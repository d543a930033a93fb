"""Markdown that somebody kept as a log: a heading with the step and a table of metrics below it, or a row per step.

    ## Step 12                                   | Step | Reward | Loss |
    | Metric | Value |                           |-----:|-------:|-----:|
    |--------|-------|                           | 10   | 0.25   | 0.1  |
    | reward | 0.25  |                           | 20   | 0.31   | 0.1  |

The model cards of the Hugging Face Trainer hold a table of the second kind. A table without a column of steps, such as one
that compares models, is none of the training.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import COUNTERS, Columns
from firstbreak.readers._literal import number
from firstbreak.readers._tail import read_whole

DESCRIPTION = "Markdown tables of metrics: one for each step, or a row for each step (model cards)"
PRIORITY = -30
ROUNDED = True
SUFFIXES = {".md", ".markdown"}
MAX_BYTES = 1 << 26
MIN_STEPS = 3  #: fewer are an example

_HEADING = re.compile(r"#{1,6}\s+(?P<text>.*)")
_STEP = re.compile(
    r"\W*(?:(?:global|training|train)\s+)?(?:step|iteration|iter|update|epoch|episode)\W{0,3}(?P<step>\d+)",
    re.IGNORECASE,
)
_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_MARKS = re.compile(r"[*`_]{1,3}(?=\S)|(?<=\S)[*`_]{1,3}(?=$|\s)")
_VALUE = re.compile(r"(?P<number>\S+?)\s*(?P<percent>%)?")
_AXES = COUNTERS - {"time", "timestamp"}

Table = list[list[str]]


def sniff(path: Path, head: bytes) -> bool:
    """A Markdown file with rows of steps: by its own words, as prose has tables as well."""
    if path.suffix.lower() not in SUFFIXES or b"\0" in head:
        return False
    try:
        text = head.decode("utf-8", "replace") if len(head) < 4096 else path.read_text("utf-8", "replace")[:MAX_BYTES]
    except OSError:
        return False
    return _table_of_steps(text) is not None


def read(path: Path, resume: Any = None) -> Recording:
    """The metrics of all steps, whole each time."""
    columns = _table_of_steps(read_whole(path, MAX_BYTES).decode("utf-8", "replace"))
    if columns is None:
        raise Unreadable(path, f"has no table with {MIN_STEPS} steps", "give the log that the trainer writes")
    return Recording(
        format="markdown",
        curves=columns.curves(),
        nulls=columns.nulls(),
        config=columns.constants(),
        notes=columns.notes(),
        resume=True,
        replaces=resume is not None,
    )


def _table_of_steps(text: str) -> Columns | None:
    """Rows of numbers with the column of their steps; None where fewer than MIN_STEPS are told."""
    columns = Columns()
    row = 0
    for step, table in _tables(text):
        header = [name.lower() for name in table[0]]
        if not _AXES.isdisjoint(header):
            rows = [dict(zip(table[0], cells, strict=False)) for cells in table[1:]]
        elif step is not None and len(header) == 2:
            rows = [{"step": step, **{cells[0]: cells[1] for cells in table[1:] if len(cells) == 2}}]
        elif step is not None and len(table) == 2:
            rows = [{"step": step, **dict(zip(table[0], table[1], strict=False))}]
        else:
            continue
        for record in rows:
            values = {name: value for name, cell in record.items() if (value := _number(cell)) is not None}
            if not values.keys() - _counters(values):
                continue
            for name, cell in record.items():
                if name in values:
                    columns.add(name, row, values[name])
                elif cell.lower() in ("none", "null"):
                    columns.add_nulls(name, [row])
                elif cell and cell.lower() != "no log":
                    columns.add_text(name, cell)
            row += 1
    return columns if row >= MIN_STEPS else None


def _counters(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.lower() in COUNTERS}


def _tables(text: str) -> Iterator[tuple[str | None, Table]]:
    """Every table, with the step that the headings above it tell."""
    step: str | None = None
    table: Table = []
    for line in (*text.splitlines(), ""):
        line = line.strip()
        if "|" in line:
            if not _RULE.fullmatch(line):
                table.append([_MARKS.sub("", cell.strip()).strip() for cell in line.strip("|").split("|")])
            continue
        if len(table) > 1:
            yield step, table
        table = []
        if heading := _HEADING.fullmatch(line):
            found = _STEP.match(heading["text"])
            step = found["step"] if found else None


def _number(cell: str) -> float | None:
    found = _VALUE.fullmatch(cell)
    value = number(found["number"]) if found else None
    return value / 100 if found and value is not None and found["percent"] else value
