"""Sacred's FileStorageObserver: `metrics.json`, and the `info.json` in which PyMARL keeps its curves.

`metrics.json` holds an object `{"steps": [...], "timestamps": [...], "values": [...]}` per metric. PyMARL's `info.json`
holds two lists per metric, `name` and `name_T`, its values and its steps; a NumPy number is written as the object
`{"py/object": "numpy.float64", "value": 1.5}`. Sacred rewrites both files whole.

Source: sacred/observers/file_storage.py, sacred/serializer.py, pymarl/src/utils/logging.py
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._json import loads
from firstbreak.readers.opening import plain, read_whole

DESCRIPTION = "metrics.json and info.json of Sacred's FileStorageObserver (PyMARL, EPyMARL)"
FILES = ("metrics.json", "info.json")
PRIORITY = 10  #: above a history saved by hand, which may have the same name
MAX_BYTES = 1 << 28
STEPS = "_T"


def sniff(path: Path, head: bytes) -> bool:
    """A file of one of the two names beside the `run.json` that Sacred always writes."""
    named = path.name in ("metrics.json", "info.json")
    return named and head.lstrip().startswith(b"{") and path.with_name("run.json").exists()


def read(path: Path, resume: Any = None) -> Recording:
    """All curves, whole each time."""
    try:
        held = loads(read_whole(path, MAX_BYTES))
    except ValueError as error:
        raise Unreadable(path, "is cut off or no JSON", "copy the file again after the run") from error
    if not isinstance(held, dict):
        raise Unreadable(path, "is no JSON object", "check that Sacred wrote it")
    curves = dict(_metrics(held) if plain(path).name == "metrics.json" else _pairs(held))
    return Recording(format="sacred", curves=curves, indexed_by="step")


def _metrics(held: dict[str, Any]) -> Iterator[tuple[str, Curve]]:
    for name, metric in held.items():
        if isinstance(metric, dict) and (curve := _curve(metric.get("steps"), metric.get("values"))):
            times = metric.get("timestamps")
            if isinstance(times, list) and len(times) == len(curve.values):
                curve.times = np.array([_seconds(time) for time in times])
            yield name, curve


def _pairs(held: dict[str, Any]) -> Iterator[tuple[str, Curve]]:
    for name, values in held.items():
        if curve := _curve(held.get(name + STEPS), values):
            yield name, curve


def _curve(steps: Any, values: Any) -> Curve | None:
    """A curve of two lists, as far as both go: the writer may have been stopped between them."""
    if not isinstance(steps, list) or not isinstance(values, list):
        return None
    points = [(_number(step), _number(value)) for step, value in zip(steps, values, strict=False)]
    points = [(step, value) for step, value in points if step is not None and value is not None]
    index, numbers = np.array(points, dtype=float).reshape(-1, 2).T
    return Curve(index=index, values=numbers) if len(points) else None


def _number(cell: Any) -> float | None:
    if isinstance(cell, dict):  # jsonpickle: {"py/object": "numpy.float64", "value": 1.5}
        cell = cell.get("value")
    return float(cell) if isinstance(cell, (int, float)) else None


def _seconds(written: Any) -> float:
    """Unix seconds of `2023-10-26T11:26:41.123456`, Sacred's time in UTC; NaN where it is none."""
    try:
        return datetime.fromisoformat(f"{written}+00:00").timestamp()
    except ValueError:
        return float("nan")
