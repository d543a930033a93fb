"""MLflow's tracking database (mlflow.db), which holds the runs of many experiments; `mlflow.db#run` is one of them."""

import sqlite3
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording
from firstbreak.readers._options import value as option
from firstbreak.readers._sqlite import MAGIC, batches, choose, database, has_tables, labels, split
from firstbreak.readers.budget import NAME, POINT, spend
from firstbreak.values import dataclass

DESCRIPTION = "MLflow tracking database (mlflow.db)"
HEADS = (MAGIC,)

_TABLES = ("metrics", "params", "runs", "experiments")
_BATCH = 1 << 16


@dataclass(frozen=True)
class _MlflowPosition:
    run: str
    row_id: int


def sniff(path: Path, head: bytes) -> bool:
    """A database with MLflow's tables."""
    return has_tables(path, head, *_TABLES)


def runs(path: Path) -> list[str]:
    """The runs that are not deleted, as `read(Path("mlflow.db#run"))` takes them."""
    with database(split(path)[0], *_TABLES) as db:
        return list(labels(_runs(db)).values())


def read(path: Path, resume: Any = None) -> Recording:
    """One run. MLflow logs each metric with its own step."""
    file, wanted = split(path)
    with database(file, *_TABLES) as db:
        run = choose(file, wanted, _runs(db))
        newest = db.execute("SELECT max(rowid) FROM metrics WHERE run_uuid = ?", (run,)).fetchone()[0] or 0
        goes_on = isinstance(resume, _MlflowPosition) and resume.run == run and resume.row_id <= newest
        after = resume.row_id if goes_on else 0
        damage: list[str] = []
        curves = _curves(db, run, after, newest, damage)
        params = db.execute(
            "SELECT CAST(key AS TEXT), CAST(value AS TEXT) FROM params WHERE run_uuid = ?", (run,)
        ).fetchall()
        status, started = db.execute(
            "SELECT status, CAST(start_time AS REAL) FROM runs WHERE run_uuid = ?", (run,)
        ).fetchone()
    return Recording(
        format="mlflow_sqlite",
        curves=curves,
        indexed_by="step",
        config={name: option(written) for name, written in params if name and written},
        order=(started or 0) / 1e3,
        damage=damage,
        cut=bool(damage),
        notes=[f"MLflow's status of the run: {status}"] if status != "FINISHED" else [],
        resume=_MlflowPosition(run, newest),
        replaces=resume is not None and not goes_on,
    )


def _runs(db: sqlite3.Connection) -> dict[str, str]:
    query = "SELECT run_uuid, coalesce(name, '') FROM runs WHERE lifecycle_stage != 'deleted' ORDER BY start_time"
    return dict(db.execute(query))


def _curves(db: sqlite3.Connection, run: str, after: int, until: int, damage: list[str]) -> dict[str, Curve]:
    """The metrics with after < row id <= until. NaN is stored as 0 with a flag, infinity as the largest double."""
    parts: dict[str, list[np.ndarray]] = defaultdict(list)
    query = """SELECT CAST(key AS TEXT), step, CASE WHEN is_nan THEN NULL ELSE value END, timestamp / 1e3 FROM metrics
               WHERE run_uuid = ? AND rowid > ? AND rowid <= ? AND typeof(value) IN ('real', 'integer')
               AND typeof(step) = 'integer' AND typeof(timestamp) = 'integer' ORDER BY rowid"""
    for batch in batches(db.execute(query, (run, after, until)), _BATCH, damage):
        cells: dict[str, list[tuple[float, float | None, float]]] = defaultdict(list)
        for name, *cell in batch:
            cells[name].append(cell)
        for name, points in cells.items():
            spend((POINT + 8) * len(points) + (0 if name in parts else NAME))
            parts[name].append(np.array(points, dtype=float))  # None, which SQLite has for NaN, becomes NaN again
    curves = {}
    for name, arrays in parts.items():
        step, value, time = np.concatenate(arrays).T
        value[np.abs(value) == sys.float_info.max] *= np.inf
        curves[name] = Curve(index=step.copy(), values=value.copy(), times=time.copy())
    return curves
