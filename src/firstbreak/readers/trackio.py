"""Trackio projects: one SQLite database per project, one row of JSON per `trackio.log`.

A project holds several runs; `project.db#run` is one of them.
"""

import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from firstbreak.readers import Curve, Recording
from firstbreak.readers._columns import Columns
from firstbreak.readers._json import loads
from firstbreak.readers._options import flat
from firstbreak.readers._sqlite import MAGIC, batches, choose, columns, database, has_tables, labels, split
from firstbreak.values import dataclass

DESCRIPTION = "Trackio project database (<project>.db)"
HEADS = (MAGIC,)

_TABLES = ("metrics", "configs")
_BATCH = 1024  # rows that are parsed together: as many as stay in the cache


@dataclass(frozen=True)
class _TrackioPosition:
    run: str
    row_id: int
    rows: int


def sniff(path: Path, head: bytes) -> bool:
    """A database with trackio's tables."""
    return has_tables(path, head, *_TABLES) and not has_tables(path, head, "experiments")


def runs(path: Path) -> list[str]:
    """The runs of the project, as `read(Path("project.db#run"))` takes them."""
    with database(split(path)[0], *_TABLES) as db:
        return list(labels(_runs(db)).values())


def read(path: Path, resume: Any = None) -> Recording:
    """One run. The step that it was logged with is the column `step`."""
    file, wanted = split(path)
    with database(file, *_TABLES) as db:
        run = choose(file, wanted, _runs(db))
        key = _key(db)
        span = "coalesce(CAST(min(id) AS INTEGER), 1), coalesce(CAST(max(id) AS INTEGER), 0)"
        first, last = db.execute(f"SELECT {span} FROM metrics WHERE {key} = ?", (run,)).fetchone()
        goes_on = isinstance(resume, _TrackioPosition) and resume.run == run and resume.row_id <= last
        table = _TrackioTable(resume if goes_on else _TrackioPosition(run, first - 1, 0))
        # The "+" keeps SQLite from an index on the run, after which it would have to sort all the rows.
        query = f"""SELECT id, step, CAST(timestamp AS BLOB), CAST(metrics AS BLOB) FROM metrics
                    WHERE id > ? AND id <= ? AND +{key} = ? ORDER BY id"""
        for batch in batches(db.execute(query, (table.position.row_id, last, run)), _BATCH, table.damage):
            table.add(batch)
        config, created = _config(db, key, run)
    return Recording(
        format="trackio",
        curves=table.curves(),
        nulls=table.columns.nulls(),
        config={**table.columns.constants(), **config},
        order=_unix_seconds(created),
        damage=table.damage,
        cut=bool(table.damage),
        notes=table.columns.notes(),
        resume=table.position,
        replaces=resume is not None and not goes_on,
    )


def _key(db: sqlite3.Connection) -> str:
    """The column that tells runs apart; before run ids there were only names."""
    return "run_id" if "run_id" in columns(db, "metrics") else "run_name"


def _runs(db: sqlite3.Connection) -> dict[str, str]:
    key = _key(db)
    return dict(db.execute(f"SELECT {key}, run_name FROM metrics GROUP BY {key} ORDER BY min(id)"))


def _config(db: sqlite3.Connection, key: str, run: str) -> tuple[dict[str, Any], str]:
    """The options and the creation time; names with an underscore in front are trackio's own."""
    row = db.execute(f"SELECT config, created_at FROM configs WHERE {key} = ?", (run,)).fetchone()
    if row is None:
        return {}, ""
    options = {name: value for name, value in _object(row[0]).items() if not name.startswith("_")}
    return flat(options), str(row[1])


class _TrackioTable:
    """Rows in, columns out."""

    def __init__(self, position: _TrackioPosition) -> None:
        self.position = position
        self.columns = Columns()
        self._first_row = position.rows
        self._times: list[float] = []
        self.damage: list[str] = []

    def add(self, batch: list[tuple[int, float, bytes, bytes]]) -> None:
        """Adds rows of (id, step, timestamp, JSON)."""
        ids, steps, stamps, cells = zip(*batch, strict=True)
        rows = self.position.rows
        records = self._parsed(tuple(cell or b"" for cell in cells))
        index = np.arange(rows, rows + len(records), dtype=float)
        if any("step" in record for record in records):  # a step that was logged as a metric goes first
            records = [{"step": step, **record} for step, record in zip(steps, records, strict=True)]
        else:
            self.columns.add_column("step", steps, index)
        self.columns.add_records(records, index)
        seconds = {stamp: _unix_seconds(stamp) for stamp in set(stamps)}  # rows are written in batches that share one
        self._times += map(seconds.__getitem__, stamps)
        self.position = _TrackioPosition(self.position.run, ids[-1], rows + len(records))

    def _parsed(self, cells: tuple[bytes, ...]) -> list[dict[str, Any]]:
        try:
            records: list[dict[str, Any]] = orjson.loads(b"[%b]" % b",".join(cells))
        except orjson.JSONDecodeError:
            records = []
        if len(records) != len(cells) or set(map(type, records)) != {dict}:
            records = [_object(cell) for cell in cells]
            if broken := sum(not record for record in records):
                self.damage.append(
                    f"left out {broken} rows of table metrics that hold no JSON object; upgrade firstbreak"
                )
        return records

    def curves(self) -> dict[str, Curve]:
        """The curves, each with the wall times of its rows."""
        curves = self.columns.curves()
        times = np.array(self._times)
        for curve in curves.values():
            curve.times = times[curve.index.astype(int) - self._first_row]
        return curves


def _object(cell: Any) -> dict[str, Any]:
    try:
        value = loads(cell)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _unix_seconds(iso_8601: str | bytes | None) -> float:
    try:
        written = iso_8601.decode() if isinstance(iso_8601, bytes) else str(iso_8601)
        return datetime.fromisoformat(written).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
