"""What `nvidia-smi --query-gpu=... --format=csv -l 10 > gpu.csv` wrote beside a run: readings of each GPU in the course of time.

The curves have the names that wandb gives to the same readings (`system.gpu.0.gpu`, `.powerWatts`, ...), so that one table of
names serves both. The index is in seconds; `read.py` puts it onto the steps of the run.
"""

import csv
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.patterns import pattern
from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._tail import Lines, still_holds
from firstbreak.readers.budget import POINT, spend
from firstbreak.readers.opening import open_file

DESCRIPTION = "GPU readings of nvidia-smi --query-gpu=timestamp,... --format=csv"
PRIORITY = 20
BESIDE = True
MIB = 2**20
#: column, without its unit -> (wandb's name, factor)
NAMES = {
    "utilization.gpu": ("gpu", 1.0),
    "power.draw": ("powerWatts", 1.0),
    "memory.used": ("memoryAllocatedBytes", MIB),
    "memory.total": ("memoryTotalBytes", MIB),
    "temperature.gpu": ("temp", 1.0),
}
_TIME = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S")
_NUMBER = pattern(r"\s*(-?\d+(?:\.\d+)?)\s*(?:%|W|MiB|C)?\s*")


def sniff(path: Path, head: bytes) -> bool:
    """A header with a time and a reading of a GPU under nvidia-smi's own names."""
    names = _columns(head.partition(b"\n")[0].decode("utf-8", "replace"))
    return "timestamp" in names and not set(NAMES).isdisjoint(names)


def _columns(line: str) -> list[str]:
    """The names of a header, without units."""
    return [
        cell.strip().partition(" ")[0].removesuffix(".instant").removesuffix(".average") for cell in line.split(",")
    ]


def read(path: Path, resume: Any = None) -> Recording:
    """One curve for each reading of each GPU; with `resume`, the lines appended since. Raises Unreadable."""
    cursor = still_holds(path, resume)
    found = _Readings(cursor.context if cursor else [])
    with open_file(path) as file:
        lines = Lines(file, cursor.offset if cursor else 0)
        for block in lines.blocks():
            for row in csv.reader(block.decode("utf-8", "replace").splitlines()):
                found.add(row)
        resumed = lines.cursor(0, found.header)
    if not found.header:
        raise Unreadable(path, "has no header yet", "wait for the first reading")
    return Recording(
        format="nvidia_smi",
        curves={name: Curve(index=np.array(p)[:, 0], values=np.array(p)[:, 1]) for name, p in found.points.items()},
        indexed_by="step",
        axis="seconds",
        damage=[f"{found.bad} lines are no readings, left out"] if found.bad else [],
        resume=resumed,
        replaces=resume is not None and cursor is None,
    )


class _Readings:
    """Rows in, (seconds, number) of each reading out."""

    def __init__(self, header: list[str]) -> None:
        self.header = header
        self.points: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.bad = 0

    def add(self, row: list[str]) -> None:
        """Adds one line; the first one is the header."""
        if not self.header:
            self.header = _columns(",".join(row))
            return
        cells = dict(zip(self.header, row, strict=False))
        at = _seconds(cells.get("timestamp", ""))
        if at is None or len(row) != len(self.header):
            self.bad += 1
            return
        known = {c: float(m[1]) for c in NAMES if (m := _NUMBER.fullmatch(cells.get(c, "")))}
        gpu = cells.get("index", "0").strip()
        for column, value in known.items():
            name, factor = NAMES[column]
            self._keep(f"system.gpu.{gpu}.{name}", at, factor * value)
        if known.get("memory.total", 0) > 0 and "memory.used" in known:
            self._keep(f"system.gpu.{gpu}.memoryAllocated", at, 100 * known["memory.used"] / known["memory.total"])

    def _keep(self, name: str, at: float, value: float) -> None:
        spend(POINT)
        self.points[name].append((at, value))


def _seconds(text: str) -> float | None:
    """Seconds of a local time, as if it were UTC: nvidia-smi does not tell the zone."""
    for form in _TIME:
        try:
            return (datetime.strptime(text.strip(), form) - datetime(1970, 1, 1)).total_seconds()
        except ValueError:
            continue
    return None
