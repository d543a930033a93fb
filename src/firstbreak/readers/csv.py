"""Tables of text: any header, cells between commas, tabs or semicolons.

Wide tables have one column per metric and one row per log call; the row number is the index, and the dialect chooses
the step column. Long tables (`step,metric,value`) carry the step in every row. The exports of the wandb and
TensorBoard web pages are wide tables whose names are cleaned up.

A first line of numbers is a row: a table without names. A single column is then called what the file's name says of it
(`rewards.csv`).

Rows of single steps of an environment are no measurements: their columns are `transitions/<name>`.

An empty cell is absent; `nan` was recorded. Cells that hold a dict (old RLlib) are flattened: names joined with "/"
where they are metrics, with "." where the column is a config.
"""

import csv
import io
import re
from collections.abc import Iterator
from functools import partial
from itertools import compress, islice, pairwise, takewhile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable, _columns
from firstbreak.readers._cells import column, matrix
from firstbreak.readers._columns import SPLIT_NAMES, Columns, exported_tag, name_from_file, on_split, split_prefix
from firstbreak.readers._literal import number, parse
from firstbreak.readers._tail import MAX_LINE, Lines, still_holds
from firstbreak.readers.opening import open_file
from firstbreak.values import dataclass, field, replace

DESCRIPTION = "tables with a header: SB3 and RLlib progress.csv, Spinning Up progress.txt, Acme logs.csv, wandb exports"
FILES = ("*.csv", "*.tsv", "*.txt", "*.dat")
SUFFIXES = {".csv", ".tsv"}
MAX_COLUMNS = 50_000
MAX_HEADER = 1 << 22  # bytes
WORDS = 4  #: columns of changing words for each of numbers: a table without steps that has more is no training log
MAX_PREAMBLE = 32  # lines of text before the header
MAX_RECORD_LINES = 100
MIN_ADDED = 3  #: rows that say what a column is, or that one was added
_UNIX = (1e9, 3e9)  #: seconds since 1970, from 2001 on
INDEX = "unnamed_0"  #: a first column without a name: the index that pandas saved, "Unnamed: 0" when it is saved again

_SEPARATORS = (",", "\t", ";")
_ABSENT = frozenset({"", "None", "null", "NULL", "NA", "N/A", "<NA>"})
_STEP_NAMES = frozenset(
    {"step", "steps", "_step", "global_step", "iteration", "iter", "epoch", "timestep", "timesteps"}
)
_METRIC_NAMES = frozenset({"metric", "name", "tag", "key", "variable", "metric_name"})
_DECIMAL_COMMA = re.compile(rb"(?m)(?<![^;\n])(-?\d+),(\d+)(?=[;\n])")  # "0,5;1,2": what spreadsheets export
_NAME = re.compile(r"[A-Za-z][\w /().-]*")
_NUMBER_IN_WORD = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def sniff(path: Path, head: bytes) -> bool:
    """A .csv or .tsv file, or a text file that begins like a table: cells between tabs, or names and numbers between commas.

    Numbers alone are a table where the file's name says of what.
    """
    if b"\0" in head or head.startswith((b"#{", b"{")):
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    lines = head.split(b"\n", 2)
    if path.suffix.lower() not in {".txt", ".dat"} or len(lines) < 3:
        return False
    if 0 < lines[0].count(b"\t") == lines[1].count(b"\t") and not lines[0].partition(b"\t")[0].strip().endswith(b":"):
        return True
    names, row = (line.decode("utf-8", "replace").strip().split(",") for line in lines[:2])
    if len(names) != len(row) or any(number(cell) is None for cell in row):
        return False
    return name_from_file(path) is not None if len(row) == 1 else all(_NAME.fullmatch(cell.strip()) for cell in names)


def read(path: Path, resume: Any = None) -> Recording:
    """The table's curves; with `resume`, of the rows appended since."""
    cursor = still_holds(path, resume)
    with open_file(path) as file:
        layout = cursor.context if cursor else _layout(path, file)
        lines = Lines(file, cursor.offset if cursor else layout.header_bytes)
        table = _CsvTable(path, layout, cursor.rows if cursor else 0)
        for block in _whole_records(lines):
            table.add(block)
        recording = table.recording()
        recording.resume = lines.cursor(table.rows, replace(table.layout, line=table.line, labels=table.labels))
    if lines.unfinished:
        recording.notes.append(f"the last line has no end yet, left for the next read ({lines.unfinished} bytes)")
    if lines.skipped:
        recording.damage.append(f"{lines.skipped} lines longer than {MAX_LINE >> 20} MiB left out; check the writer")
    counted = [c for name, c in recording.curves.items() if name.lower() in _columns.COUNTERS]
    logs = len(recording.curves) > len(counted) and any((np.diff(c.values) >= 0).all() for c in counted)
    if not logs and not recording.config and table.columns.words > WORDS * len(recording.curves):
        recording.curves.clear()
        recording.notes.append(
            "a list with far more words than numbers and no steps that grow: its numbers are left out"
        )
    seeds = recording.curves.get("seed")
    if seeds is not None and len(several := np.unique(seeds.values)) > 1:
        recording.notes.append(
            f"{len(several)} seeds stand under each other and a later one takes the place of the earlier: split the table"
        )
    recording.replaces = resume is not None and cursor is None
    return recording


@dataclass(frozen=True)
class _Layout:
    """What the header says."""

    names: tuple[str, ...]
    separator: str
    header: bytes  #: the header line without its newline; a restarted writer may repeat it
    header_bytes: int  #: where the rows begin
    long: tuple[int, int, int] | None = None  #: columns of step, metric and value of a long table
    line: int = 1  #: lines read so far
    labels: dict[str, float] = field(default_factory=dict)  #: long tables: step words without a number, by appearance


def _layout(path: Path, file: BinaryIO) -> _Layout:
    """Reads the header, which may stand behind lines of text. Raises Unreadable where there is none."""
    header = file.readline(MAX_HEADER + 1)
    if len(header) > MAX_HEADER:
        raise Unreadable(path, f"a header beyond {MAX_HEADER >> 20} MiB", "check that it is a table", "line 1")
    if not header.endswith(b"\n"):
        problem = "the header is still being written" if header else "is empty"
        raise Unreadable(path, problem, "wait until the trainer has logged its first row")
    if b"\0" in header:
        raise Unreadable(path, "is not text", "check that this is the file you meant", "line 1")
    begins, above = len(header), 0
    text = _text(header)
    separator = max(_SEPARATORS, key=text.count)
    if separator not in text:
        for at, line in enumerate(_behind(file), 1):
            if (cells := max(map(_text(line).split, _SEPARATORS), key=len))[1:]:
                separator = max(_SEPARATORS, key=_text(line).count)
                if not _is_row(cells):
                    header, text, above, begins = line, _text(line), at, file.tell()
                break
    if text.count(separator) >= MAX_COLUMNS:
        raise Unreadable(path, f"has more than {MAX_COLUMNS} columns", "check that it is a table of metrics", "line 1")
    name = name_from_file(path)
    if not text and not name:
        raise Unreadable(path, "the first line is empty", "check that it is a table with a header", "line 1")
    cells = _rows(text, separator)[0] if text else [str(name)]
    if _is_row(cells):
        rows = [cells, *(_text(line).split(separator) for line in islice(file, MIN_ADDED))]
        names = [name] if name and len(cells) == 1 else _of_one_metric(path, rows) or _unnamed(rows)
        return _Layout(tuple(names), separator, b"", 0, line=0)
    if _of_transitions(cells):
        cells = [f"transitions/{cell.strip()}" for cell in cells]
    return _Layout(tuple(_distinct(cells)), separator, header.rstrip(b"\r\n"), begins, _long(cells), line=1 + above)


def _of_one_metric(path: Path, rows: list[list[str]]) -> list[str]:
    """`epoch,step,value` in a file with the metric's name, as d3rlpy writes them beside each other; else nothing."""
    counted = [[number(cell) for cell in row[:2]] for row in rows]
    alone = len(list(islice(path.parent.glob("*.csv"), MIN_ADDED))) < MIN_ADDED
    if alone or any(len(row) != 3 or None in ends for row, ends in zip(rows, counted, strict=True)):
        return []
    apart = np.diff(np.array(counted, float), axis=0)
    grows = len(rows) > 1 and (apart[:, 0] >= 0).all() and (apart[:, 1] > apart[:, 0]).all() and not (apart % 1).any()
    return ["epoch", "step", path.stem] if grows else []


def _unnamed(rows: list[list[str]]) -> list[str]:
    """Names for the columns of a table without a header: one that counts by ones is the step, and some hold unix times."""
    names = [f"column {i}" for i in range(1, len(rows[0]) + 1)]
    if len(rows) > MIN_ADDED and all(len(row) == len(names) for row in rows):
        for place, cells in enumerate(zip(*rows, strict=True)):
            found = [number(cell) or 0.0 for cell in cells]
            if "step" not in names and all(b - a == 1 for a, b in pairwise(found)):
                names[place] = "step"
            elif "timestamp" not in names and found == sorted(found) and _UNIX[0] < found[0] <= found[-1] < _UNIX[1]:
                names[place] = "timestamp"
    return names


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace").strip("\r\n").lstrip("# ")  # numpy.savetxt comments its header out


def _behind(file: BinaryIO) -> Iterator[bytes]:
    """The lines behind the first one, as long as they are text."""
    for line in islice(iter(partial(file.readline, MAX_HEADER + 1), b""), MAX_PREAMBLE):
        if not line.endswith(b"\n") or number(_text(line)) is not None:
            return
        yield line


def _is_row(cells: list[str]) -> bool:
    """Numbers instead of names: all of them, or most and one of them with a fraction (columns may be called 0, 1, 2)."""
    numbers = [cell for cell in cells if number(cell) is not None]
    return len(numbers) == len(cells) or (2 * len(numbers) >= len(cells) and any("." in cell for cell in numbers))


#: what rows of single steps hold beside a reward: their time in the episode, an end, an action, what came next
_STEP_OF_ENVIRONMENT = tuple(
    map(
        re.compile,
        (r"t", r"(buf_)?(dones?|terminals?|terminated|truncated)", r"a(ct(ion)?s?)?_?0?", r"next_.+|.+_next"),
    )
)


def _of_transitions(names: list[str]) -> bool:
    """Whether the rows are steps of an environment that were dumped, and no measurements of a training."""
    lower = [name.strip().lower() for name in names]
    held = sum(any(pattern.fullmatch(name) for name in lower) for pattern in _STEP_OF_ENVIRONMENT)
    return held > 1 and any(name in ("reward", "rewards", "env_reward", "rew") for name in lower)


def _long(names: list[str]) -> tuple[int, int, int] | None:
    """The places of step, metric and value, if the header is that of a long table."""
    lower = [name.strip().lower() for name in names]
    step = next((i for i, name in enumerate(lower) if name in _STEP_NAMES), None)
    metric = next((i for i, name in enumerate(lower) if name in _METRIC_NAMES), None)
    if step is None or metric is None or "value" not in lower:
        return None
    return step, metric, lower.index("value")


def _distinct(names: list[str]) -> Iterator[str]:
    """Column names without the spaces around them; a repeated one gets a number, as in pandas: loss, loss.1."""
    seen: dict[str, int] = {}
    names = names if names[0].strip() not in ("", "Unnamed: 0") or len(names) == 1 else [INDEX, *names[1:]]
    for name in (_columns.counter(name.strip()) or f"column {i}" for i, name in enumerate(names, 1)):
        count = seen.get(name, 0)
        seen[name] = count + 1
        yield f"{name}.{count}" if count else name


def _whole_records(lines: Lines) -> Iterator[bytes]:
    """Blocks that end between two records: a quoted cell may hold newlines, but not many."""
    rest = b""
    for block in lines.blocks():
        block = rest + block
        end = _end_of_records(block) if b'"' in block else len(block)
        if block.count(b"\n", end) > MAX_RECORD_LINES:  # a stray quote, which must not swallow the rest of the file
            end = len(block)
        if end:
            yield block[:end]
        rest = block[end:]
    lines.offset -= len(rest)
    lines.unfinished += len(rest)


def _end_of_records(block: bytes) -> int:
    """Where the last record of a block ends that has no open quote."""
    end, quotes = len(block), block.count(b'"')
    while end and quotes % 2:
        start = block.rfind(b"\n", 0, end - 1) + 1
        quotes -= block.count(b'"', start, end)
        end = start
    return end


class _CsvTable:
    """Rows in, columns out."""

    def __init__(self, path: Path, layout: _Layout, rows: int) -> None:
        self.path, self.layout = path, layout
        self.first, self.rows, self.line = rows, rows, layout.line
        self.labels = dict(layout.labels)
        self.columns = Columns()
        self.segments: list[int] = []  #: the first row after every repeated header
        self.ragged = 0
        self.added = ""
        self.first_ragged = 0
        self.remedy = "check whether two writers share the file"
        self.parsed: dict[str, tuple[str, object]] = {}  #: the last dict cell of each column, which often repeats

    def add(self, block: bytes) -> None:
        """Adds whole lines. A line that repeats the header marks a restart of the writer."""
        if self.layout.separator == ";" and b"," in block:
            block = _DECIMAL_COMMA.sub(rb"\1.\2", block)
        header = self.layout.header
        if not header or header not in block:
            self._add_rows(block)
            return
        first, *others = re.split(rb"(?m)^" + re.escape(header) + rb"\n", block)
        self._add_rows(first)
        for piece in others:
            self.segments.append(self.rows)
            self.line += 1
            self._add_rows(piece)

    def _add_rows(self, block: bytes) -> None:
        if self.layout.long is None and (found := matrix(block, len(self.layout.names), self.layout.separator)):
            self._add_numbers(*found)
            return
        rows = _rows(block.decode("utf-8", "replace"), self.layout.separator)
        rows = rows if self.layout.long else self._widened(rows)
        width = len(self.layout.names)
        needed = max(self.layout.long) + 1 if self.layout.long else width
        whole = [row for row in rows if len(row) >= needed and not any(row[width:])]
        if len(whole) < len(rows):
            ragged = [line for line, row in enumerate(rows, self.line + 1) if len(row) < needed or any(row[width:])]
            self.first_ragged = self.first_ragged or ragged[0]
            self.ragged += len(ragged)
            if any(row[0].startswith(("<<<<<<< ", ">>>>>>> ")) for row in rows):
                self.remedy = "settle the merge whose marks git left"
        self.line += len(rows)
        if self.layout.long:
            self._add_long(whole)
        else:
            self._add_cells(whole)
        self.rows += len(whole)

    def _widened(self, rows: list[list[str]]) -> list[list[str]]:
        """The rows, with more names where all from some row on have further cells: a writer that was changed added columns."""
        width, wide = len(self.layout.names), len(rows[-1]) if rows else 0
        tail = [*takewhile(lambda row: len(row) == wide, reversed(rows))]
        added = (
            [f"column {i}" for i in range(width + 1, wide + 1)] if wide < 2 * width and len(tail) >= MIN_ADDED else []
        )
        others = any(len(row) > width for row in rows[: -len(tail)])
        if not added or others or any(number(cell) is None for row in tail for cell in row[width:]):
            return rows
        self.added = f"line {self.line + 1 + len(rows) - len(tail)}: from here on rows have {len(added)} more cells"
        self.layout = replace(self.layout, names=(*self.layout.names, *added))
        return [row + [""] * (wide - len(row)) if len(row) >= width else row for row in rows]

    def _add_numbers(self, values: np.ndarray, absent: np.ndarray | None) -> None:
        count = values.shape[1]
        index = np.arange(self.rows, self.rows + count, dtype=float)
        self.columns.add_numbers(self.layout.names, values, absent, index)
        self.rows += count
        self.line += count

    def _add_cells(self, rows: list[list[str]]) -> None:
        index = np.arange(self.rows, self.rows + len(rows), dtype=float)
        splits = next((i for i, name in enumerate(self.layout.names) if name.lower() in SPLIT_NAMES), None)
        prefixes = [""] * len(rows) if splits is None else [split_prefix(row[splits]) for row in rows]
        different = dict.fromkeys(prefixes)
        for place, (name, cells) in enumerate(zip(self.layout.names, zip(*rows, strict=False), strict=False)):
            called = {name if place == splits else on_split(name, prefix) for prefix in different}
            if len(called) == 1:
                self._add_column(called.pop(), cells, index)
                continue
            for prefix in different:
                own = [p == prefix for p in prefixes]
                self._add_column(on_split(name, prefix), tuple(compress(cells, own)), index[own])

    def _add_column(self, name: str, cells: tuple[str, ...], index: np.ndarray) -> None:
        if "" in cells:
            present = [cell != "" for cell in cells]
            cells, index = tuple(compress(cells, present)), index[present]
        values = column(cells)
        if values is None:
            self._add_mixed(name, index, cells)
        else:
            self.columns.extend(name, index, values)

    def _add_mixed(self, name: str, index: np.ndarray, cells: tuple[str, ...]) -> None:
        """Adds cells that are not all numbers. Equal cells are the rule (names, flags), and are parsed once."""
        numbers = {cell: number(cell) for cell in set(cells)}
        values = [numbers[cell] for cell in cells]
        found = [value is not None for value in values]
        self.columns.extend(name, index[found], np.array(list(compress(values, found)), dtype=float))
        if absent := _ABSENT.intersection(numbers):
            self.columns.add_nulls(name, index[[cell in absent for cell in cells]])
        others = {cell for cell, value in numbers.items() if value is None} - _ABSENT
        dicts = {cell for cell in others if cell.startswith("{")}
        lists = {cell for cell in others if cell.startswith(("[", "("))}
        for text in others - dicts - lists:
            self.columns.add_text(name, text)
        if lists:
            self.columns.not_numbers.add(name)
        if dicts:
            for row, cell in zip(index, cells, strict=True):
                if cell in dicts:
                    self._add_dict(name, row, cell)

    def _add_dict(self, name: str, row: float, cell: str) -> None:
        text, value = self.parsed.get(name, ("", None))
        if text != cell:
            try:
                value = parse(cell)
            except ValueError:
                self.columns.not_numbers.add(name)
                return
            self.parsed[name] = (cell, value)
        self.columns.add_object(name, row, value)

    def _add_long(self, rows: list[list[str]]) -> None:
        assert self.layout.long is not None
        step, metric, value = self.layout.long
        for row in rows:
            logged = number(row[value])
            if logged is not None:
                self.columns.add(row[metric].strip(), self._step(row[step]), logged)
            elif row[value] not in _ABSENT:
                self.columns.add_text(row[metric].strip(), row[value])
            elif row[value]:
                self.columns.add_nulls(row[metric].strip(), [self._step(row[step])])

    def _step(self, word: str) -> float:
        """The number in a step word (`epoch0.33`, `G=2`); without one ("start", "end"), its place among such words."""
        found = _NUMBER_IN_WORD.search(word)
        if found:
            return float(found[0])
        return self.labels.setdefault(word, float(len(self.labels)))

    def recording(self) -> Recording:
        recording = self.columns.recording("csv")
        recording.curves, has_steps = _without_export_marks(recording.curves, self.path)
        recording.indexed_by = "step" if self.layout.long or has_steps else "row"
        if self.segments:
            starts = np.searchsorted(self.segments, np.arange(self.first, self.rows), side="right")
            recording.segment = starts.astype(float)
            recording.notes.append(f"the header is repeated {len(self.segments)} times: the writer was restarted")
        recording.notes += [f"{self.added} than the header: taken for columns added at its end"] if self.added else []
        if self.ragged:
            recording.damage.append(
                f"line {self.first_ragged}: {self.ragged} rows without the header's {len(self.layout.names)} cells "
                f"left out; {self.remedy}"
            )
        return recording


def _rows(text: str, separator: str) -> list[list[str]]:
    """The cells of every line. Where a quote is never closed, quotes are read as plain characters."""
    if '"' in text and text.count('"') % 2 == 0:
        try:
            return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
        except csv.Error:
            pass
    return [line.split(separator) for line in text.split("\n") if line]


def on_steps(steps: Curve, curve: Curve) -> Curve:
    """A column of a table indexed by the step column instead of the row; rows that lack either are left out."""
    has_value, has_step = np.isin(steps.index, curve.index), np.isin(curve.index, steps.index)
    return Curve(index=steps.values[has_value], values=curve.values[has_step])


# --- exports of web pages --------------------------------------------------------------------------------------------


def _without_export_marks(curves: dict[str, Curve], path: Path) -> tuple[dict[str, Curve], bool]:
    """The metrics under their own names, and whether they are indexed by steps now."""
    if set(curves) == {"Wall time", "Step", "Value"}:
        return _tensorboard_export(curves, path), True
    if any(f"{name}__MIN" in curves for name in curves):
        return _wandb_export(curves), False
    return curves, False


def _tensorboard_export(curves: dict[str, Curve], path: Path) -> dict[str, Curve]:
    """`run-<run>-tag-<tag>.csv` holds one metric."""
    curve = on_steps(curves["Step"], curves["Value"])
    if len(curves["Wall time"].values) == len(curve.values):
        curve.times = curves["Wall time"].values
    return {exported_tag(path): curve}


def _wandb_export(curves: dict[str, Curve]) -> dict[str, Curve]:
    """`<run> - <metric>` with its `__MIN` and `__MAX`. Several runs in one file stay apart as `<metric>[run=<run>]`."""
    plain = {name: curve for name, curve in curves.items() if not name.endswith(("__MIN", "__MAX"))}
    runs = {name.partition(" - ")[0] for name in plain if " - " in name}
    renamed = {}
    for name, curve in plain.items():
        run, joint, metric = name.partition(" - ")
        renamed[name if not joint else metric if len(runs) == 1 else f"{metric}[run={run}]"] = curve
    return renamed
