"""Weights & Biases run files (`run-<id>.wandb`): everything that an offline or synced run logged, without wandb.

The records are protobuf messages of wandb_internal.proto. History rows carry each value as JSON, with bare NaN and
Infinity. wandb leaves `_step`, its count of log calls, and the trainer's own step columns in the rows, so the row is the
index and the dialect chooses the axis.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._blocklog import FILE_HEADER, BlockLog
from firstbreak.readers._columns import Columns, leaves
from firstbreak.readers._json import loads
from firstbreak.readers._options import flat
from firstbreak.readers._protobuf import Records, fields, first_int, submessages, text
from firstbreak.readers._tail import Cursor, fingerprint, still_holds
from firstbreak.readers.budget import POINT, spend
from firstbreak.readers.opening import open_file

_MAGIC = b":W&B\xe1\xbe"
DESCRIPTION = "Weights & Biases run file (run-<id>.wandb, offline or synced)"
FILES, HEADS = ("*.wandb",), (_MAGIC,)

_HISTORY, _CONFIG, _STATS, _RUN, _EXIT = 2, 5, 7, 17, 18  #: fields of Record
_VALUE = b"\x82\x01"  #: the key of field 16, value_json, on the wire
_MAX_VALUE = 1 << 16  # bytes of one value's JSON; a metric takes twenty
_MAX_NAME = 200  # letters of the name of a reading; they are as long as a metric's
_FLUSH_ROWS = 4096  # bounds the memory for cells that wait to be parsed together


def sniff(path: Path, head: bytes) -> bool:
    """The file's identifier; an empty `.wandb` is a run that has written nothing yet."""
    return head.startswith(_MAGIC) or (path.suffix == ".wandb" and not head)


def claims(folder: Path) -> bool:
    """A run's folder: its record file holds everything, and the files beside it are wandb's own logs and copies."""
    return any(folder.glob("run-*.wandb"))


def read(path: Path, resume: Any = None) -> Recording:
    """The rows of `wandb.log`, with nested keys joined by ".", and the run's config."""
    if path.is_dir():
        path = next(iter(sorted(path.glob("run-*.wandb"))), path)
    cursor = still_holds(path, resume)
    run = _WandbRun(cursor.rows if cursor else 0)
    with open_file(path) as file:
        header = file.read(FILE_HEADER)
        if not (_MAGIC + b"\0").startswith(header):
            raise Unreadable(path, "is no wandb run file of a known version", "export the run's history to CSV")
        log = BlockLog(file, cursor.offset if cursor else FILE_HEADER)
        for record in log.records():
            run.take(record)
        run.flush()
        position = Cursor(log.offset, run.rows, fingerprint(file, log.offset)) if len(header) == FILE_HEADER else None
    return Recording(
        format="wandb",
        curves=(curves := _with_times(run.columns.curves())) | run.readings(curves),
        config={**run.columns.constants(), **run.config},
        order=run.start_time,
        damage=[*log.damage(), *run.damage()],
        cut=log.cut,
        notes=[*log.notes(), *run.notes()],
        resume=position,
        replaces=resume is not None and cursor is None,
    )


def _with_times(curves: dict[str, Curve]) -> dict[str, Curve]:
    """The curves with wall times, where every one of their rows has a `_timestamp`."""
    clock = curves.get("_timestamp")
    if clock is None:
        return curves
    for curve in curves.values():
        at = np.searchsorted(clock.index, curve.index)
        if at.max() < len(clock.index) and np.array_equal(clock.index[at], curve.index):
            curve.times = clock.values[at]
    return curves


class _WandbRun(Records):
    """Records in, columns and config out."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.columns = Columns()
        self.config: dict[str, Any] = {}
        self.start_time = 0.0
        self._exit_code: int | None = None
        self._cells: dict[str, _Cells] = {}
        self._heads: dict[bytes, _Cells] = {}  #: by an item's bytes before its value
        self._steps = self._cells_of("_step")
        self._flushed_at = rows
        self.machine: dict[str, list[tuple[float, float]]] = {}  #: reading -> (unix seconds, number)
        self.takes = {
            _HISTORY: self._take_row,
            _CONFIG: self._take_config,
            _STATS: self._take_stats,
            _RUN: self._take_run,
            _EXIT: self._take_exit,
        }

    def damage(self) -> list[str]:
        """What was no wandb record."""
        return [f"left out {self.malformed} records or options that wandb does not write"] if self.malformed else []

    def notes(self) -> list[str]:
        """What was left out because it is no number, and how the run ended."""
        notes = self.columns.notes()
        if self._exit_code is None:
            notes.append("no exit record: the run is still going on, or was killed")
        elif self._exit_code:
            notes.append(f"the run ended with exit code {self._exit_code}")
        return notes

    def _take_run(self, data: bytes, span: slice) -> None:
        for config in submessages(data, span, 4):
            self._take_config(data, config)
        for timestamp in submessages(data, span, 17):
            self.start_time = float(first_int(data, timestamp))

    def _take_exit(self, data: bytes, span: slice) -> None:
        self._exit_code = first_int(data, span)

    def _take_stats(self, data: bytes, span: slice) -> None:
        """Readings of the machine: {2 timestamp, 3 {1 key, 16 value_json} ...}."""
        at = next((float(first_int(data, when)) for when in submessages(data, span, 2)), None)
        if at is None:
            return
        for item in submessages(data, span, 3):
            name, written = _item(data, item)
            value = _value(written)
            if isinstance(value, int | float) and len(name) < _MAX_NAME:
                spend(POINT)
                self.machine.setdefault(f"system.{name}", []).append((at, float(value)))

    def readings(self, curves: dict[str, Curve]) -> dict[str, Curve]:
        """The readings of the machine, on the rows of the history, between which they lie in time."""
        clock = curves.get("_timestamp")
        if clock is None or not self.machine:
            return {}
        times, first = np.unique(clock.values, return_index=True)
        found = {}
        for name, points in self.machine.items():
            at, values = np.array(points).T
            inside = (at >= times[0]) & (at <= times[-1])
            if inside.any():
                rows = np.interp(at[inside], times, clock.index[first])
                found[name] = Curve(index=rows, values=values[inside], times=at[inside])
        return found

    def _take_config(self, data: bytes, span: slice) -> None:
        for item in submessages(data, span, 1):
            name, value = _item(data, item)
            if name.partition(".")[0] == "_wandb":  # its own bookkeeping
                continue
            try:
                self.config.update(flat({name: loads(value)}))
            except ValueError:
                self.malformed += 1

    def _take_row(self, data: bytes, span: slice) -> None:
        row = self.rows
        self.rows += 1
        for number, value in fields(data, span.start, span.stop):
            if isinstance(value, int):
                continue
            if number == 1:
                self._take_item(data, value, row)
            elif number == 2 and row not in self._steps.rows[-1:]:
                self._steps.add(row, b"%d" % first_int(data, value))
        if self.rows - self._flushed_at == _FLUSH_ROWS:
            self.flush()

    def _take_item(self, data: bytes, item: slice, row: int) -> None:
        """Adds one HistoryItem; in full only if none with the same head, the bytes before its value, was parsed yet."""
        split = data.find(_VALUE, item.start, item.stop)
        begin = split + len(_VALUE) + 1
        plain = split >= 0 and begin <= item.stop and data[begin - 1] == item.stop - begin < 0x80
        cells = self._heads.get(data[item.start : split]) if plain else None
        if cells is not None:
            cells.add(row, data[begin : item.stop])
            return
        name, value = _item(data, item)
        cells = self._cells_of(name)
        cells.add(row, value)
        if plain and value == data[begin : item.stop]:
            self._heads[data[item.start : split]] = cells

    def _cells_of(self, name: str) -> _Cells:
        return self._cells.setdefault(name, _Cells())

    def flush(self) -> None:
        """Parses the cells that were gathered, a column at a time."""
        self._flushed_at = self.rows
        # Tables, histograms and images are objects with a `_type`; what they are made of is no metric.
        media = {name.removesuffix("._type") for name in self._cells if name.endswith("._type")}
        for name, cells in self._cells.items():
            part_of = next((whole for whole in media if name.startswith(f"{whole}.")), None)
            if part_of is not None:
                self.columns.not_numbers.add(part_of)
            else:
                self._add(name, np.array(cells.rows, dtype=float), cells.parsed())
            cells.rows.clear()
            cells.values.clear()

    def _add(self, name: str, rows: np.ndarray, values: list[Any]) -> None:
        if dict not in map(type, values):
            self.columns.add_column(name, values, rows)
            return
        for row, value in zip(rows, values, strict=True):
            if isinstance(value, dict) and "_type" not in value:  # written by a client that did not flatten it
                for key, leaf in leaves(value, "."):
                    self.columns.add_object(f"{name}.{key}", row, leaf)
            else:
                self.columns.add_object(name, row, value)


class _Cells:
    """The cells of one column that have not been parsed yet."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.values: list[bytes] = []  #: JSON

    def add(self, row: int, value: bytes) -> None:
        self.rows.append(row)
        self.values.append(value if len(value) < _MAX_VALUE else b"null")

    def parsed(self) -> list[Any]:
        """The values; None where one is no JSON."""
        try:
            values: list[Any] = orjson.loads(b"[%b]" % b",".join(self.values))
            if len(values) == len(self.values):
                return values
        except orjson.JSONDecodeError:
            pass
        return [_value(value) for value in self.values]


def _value(written: bytes) -> Any:
    try:
        return loads(written)
    except ValueError:
        return None


def _item(data: bytes, span: slice) -> tuple[str, bytes]:
    """Name and JSON value of a HistoryItem or ConfigItem: {1 key | 2 nested_key ..., 16 value_json}."""
    keys, value = [], b"null"
    for number, field in fields(data, span.start, span.stop):
        if number in (1, 2) and isinstance(field, slice):
            keys.append(text(data, field))
        elif number == 16 and isinstance(field, slice):
            value = data[field]
    return ".".join(keys), value
