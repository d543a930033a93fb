"""Markdown that somebody kept as a log: a heading with the step and a table of metrics below it, or a row per step.

    ## Step 12                                   | Step | Reward | Loss |
    | Metric | Value |                           |-----:|-------:|-----:|
    |--------|-------|                           | 10   | 0.25   | 0.1  |
    | reward | 0.25  |                           | 20   | 0.31   | 0.1  |

The model cards of the Hugging Face Trainer hold a table of the second kind. A table without a column of steps, such as one
that compares models, is none of the training. Of several tables with other columns the largest is the run, with those that
have the same steps. A report without such a table may quote the lines that the trainer printed: they are read like a console.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from firstbreak.dialects import generic
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import COUNTERS, Columns, counter
from firstbreak.readers._literal import number
from firstbreak.readers.console import Console
from firstbreak.readers.opening import HEAD_BYTES, read_whole

DESCRIPTION = (
    "Markdown: tables of metrics, one for each step or a row for each step (model cards), or quoted lines of a log"
)
FILES = ("*.md", "*.markdown")
PRIORITY = -30
ROUNDED = True
SUFFIXES = {".md", ".markdown"}
MAX_BYTES = 1 << 26
MIN_STEPS = 3  #: fewer are an example
MIN_LINES = 8  #: quoted lines of a log with a step; fewer are an example

OF_A_PROJECT = {"readme", "changelog"}  #: what they quote is an example

_HEADING = re.compile(r"#{1,6}\s+(?P<text>.*)")
_STEP = re.compile(
    r"\W*(?:(?:global|training|train)\s+)?(?:step|iteration|iter|update|epoch|episode)\W{0,3}(?P<step>\d+)",
    re.IGNORECASE,
)
_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_MARKS = re.compile(r"(?:[*`]|(?<!\w)_){1,3}(?=\S)|(?<=\S)[*`_]{1,3}(?=$|\s)")
_COUNT = re.compile(r"(?:\d+ ?[-\u2013] ?)?(?P<count>\d+)(?: ?/ ?\d+)?")  #: 80, 1-80, or 80/2200
_VALUE = re.compile(r"(?P<number>\S+?)\s*(?P<percent>%)?")
_AXES = COUNTERS - {"time", "timestamp"}

Table = list[list[str]]


def sniff(path: Path, head: bytes) -> bool:
    """A Markdown file with rows of steps: by its own words, as prose has tables as well."""
    if path.suffix.lower() not in SUFFIXES or b"\0" in head:
        return False
    try:
        text = (head if len(head) < HEAD_BYTES else read_whole(path, MAX_BYTES)).decode("utf-8", "replace")
    except Unreadable:
        return False
    return bool(_table(text) or (path.stem.lower() not in OF_A_PROJECT and _quoted(text)))


def read(path: Path, resume: Any = None) -> Recording:
    """The metrics of all steps, whole each time."""
    text = read_whole(path, MAX_BYTES).decode("utf-8", "replace")
    recording = _table(text) or _quoted(text)
    if recording is None:
        raise Unreadable(path, f"has no table with {MIN_STEPS} steps", "give the log that the trainer writes")
    recording.format = "markdown"
    return recording


def _table(text: str) -> Recording | None:
    rows = _rows_of_steps(text)
    if not rows:
        return None
    columns = _columns(measured := [next(same) for _, same in groupby(rows, key=_values)])
    still = len(rows) - 1 - rows.index(measured[-1])
    notes = [f"the last {still} rows repeat the one before: the run stood still, or had ended"] if still else []
    recording = columns.recording("markdown")
    recording.notes += notes
    return recording


def _quoted(text: str) -> Recording | None:
    """What a trainer printed, where enough lines of it count steps."""
    console = Console()
    console.feed(text)
    recording = console.recording()
    counted = recording.indexed_by == "step" or any(
        name.lower() in _AXES and len(curve.values) >= MIN_LINES for name, curve in recording.curves.items()
    )
    metrics = (len(curve.values) for name, curve in recording.curves.items() if name.lower() not in COUNTERS)
    return recording if counted and max(metrics, default=0) >= MIN_LINES else None


Row = dict[str, str]


def _rows_of_steps(text: str) -> list[Row]:
    """Rows of numbers with the column of their steps; none where fewer than MIN_STEPS are told."""
    by_header: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for step, table in _tables(text):
        header = [name.lower() for name in table[0]]
        if any(map(_counts, header)):
            by_header[tuple(header)] += [dict(zip(table[0], cells, strict=False)) for cells in table[1:]]
        elif step is not None and len(header) == 2:
            by_header[()].append({"step": step, **{cells[0]: cells[1] for cells in table[1:] if len(cells) == 2}})
        elif step is not None and len(table) == 2:
            by_header[()].append({"step": step, **dict(zip(table[0], table[1], strict=False))})
    rows = [
        [row for row in rows if any(name.lower() not in COUNTERS for name in _values(row))]
        for rows in by_header.values()
    ]
    return max(_runs(rows), key=lambda of_run: sum(len(_values(row)) for row in of_run), default=[])


def _runs(tables: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """Tables side by side that have the same steps are one run."""
    same: dict[tuple[str, ...], list[list[Row]]] = defaultdict(list)
    for rows in tables:
        same[tuple(cell for row in rows for name, cell in row.items() if _counts(name))].append(rows)
    for steps, beside in same.items():
        if len(steps) >= MIN_STEPS:
            yield [row for rows in beside for row in rows]


def _counts(name: str) -> bool:
    """Whether a column counts, be it `episodes_total` or `Env Steps`."""
    found = None if name.lower() in _AXES else generic.translate(name)
    return found.signal.startswith("progress.") if found else name.lower() in _AXES


def _columns(rows: Sequence[Row]) -> Columns:
    columns = Columns()
    for index, row in enumerate(rows):
        values = _values(row)
        for name, cell in row.items():
            if name in values:
                columns.add(name, index, values[name])
            elif cell.lower() in ("none", "null"):
                columns.add_nulls(name, [index])
            elif cell and cell.lower() != "no log":
                columns.add_text(name, cell)
    return columns


def _values(row: Row) -> dict[str, float]:
    """The numbers of a row; of a counter that says from where to where it went, or to where it will go, how far it is."""
    values = {}
    for name, cell in row.items():
        count = _COUNT.fullmatch(cell) if name.lower() in _AXES else None
        value = float(count["count"]) if count else _number(cell)
        if value is not None:
            values[name] = value
    return values


def _tables(text: str) -> Iterator[tuple[str | None, Table]]:
    """Every table, with the step that the headings above it tell."""
    step: str | None = None
    table: Table = []
    for line in (*text.splitlines(), ""):
        line = line.strip()
        if "|" in line:
            if not _RULE.fullmatch(line):
                table.append([counter(_MARKS.sub("", cell.strip()).strip()) for cell in line.strip("|").split("|")])
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
