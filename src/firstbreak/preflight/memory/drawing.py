"""The ledger as stacked bars: one for each phase, against the memory of the GPU; from entries, or from a saved report."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firstbreak.preflight import Stacks
from firstbreak.preflight.memory.ledger import GIB, Entry, peaks
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import read_whole

PARTS = 7  #: kinds that are drawn by name; what is left is "other"
LEAST = 0.01  #: GiB: what is smaller is not drawn as "other"
FILE = "memory.json"  #: in the folder of a run: its plan, saved by `firstbreak check memory --format json`
MOST_BYTES = 1 << 20  #: of that file
MOST_GIB = 1e6  #: a size beyond it is none
MOST_PHASES = 12  #: of a saved report


def stacked(entries: Sequence[Entry], memory: float) -> Stacks:
    """A bar for each phase of a training GPU and of an engine's, in GiB. `memory`: bytes of one GPU."""
    here = [entry for entry in entries if entry.place != "host"]
    sums: dict[str, dict[tuple[str, str], float]] = {}
    for entry in here:
        part = sums.setdefault(entry.kind.partition(" (")[0], {})
        part[entry.place, entry.phase] = part.get((entry.place, entry.phase), 0.0) + entry.bytes / GIB
    largest = sorted(sums, key=lambda kind: -max(sums[kind].values()))
    named, rest = largest[:PARTS], largest[PARTS:]
    rest = rest if rest and max(sums[rest[0]].values()) >= LEAST else []

    def amounts(column: tuple[str, str]) -> tuple[float, ...]:
        known = [sums[kind].get(column, 0.0) for kind in named]
        other = [sum(sums[kind].get(column, 0.0) for kind in rest)] if rest else []
        return tuple(round(amount, 2) for amount in known + other)

    return Stacks(
        title="Memory of one GPU by phase",
        unit="GiB",
        capacity=round(memory / GIB, 1),
        columns=(*named, *(["other"] if rest else [])),
        rows=tuple(
            (phase if place == "trainer" else "engine's GPU", amounts((place, phase)))
            for place, phase in peaks(tuple(here))
        ),
    )


def saved(folder: Path) -> Stacks | None:
    """The plan that was saved in the folder of a run. None without one; raises `Unreadable` where it is something else."""
    path = folder / FILE
    if not os.path.isfile(path):
        return None
    try:
        numbers = json.loads(read_whole(path, MOST_BYTES))["numbers"]
        drawn = stacked([_entry(row) for row in numbers["entries"]], _size(numbers["gpu_memory"]))
        if not 0 < len(drawn.rows) <= MOST_PHASES:
            raise ValueError(len(drawn.rows))
        return drawn
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        remedy = "write it with firstbreak check memory --format json"
        raise Unreadable(str(path), "is no memory report of firstbreak", remedy) from None


def _entry(row: dict[str, Any]) -> Entry:
    texts = {name: str(row[name]) for name in ("place", "phase", "moment", "role", "kind")}
    return Entry(**texts, bytes=_size(row["bytes"]))


def _size(value: Any) -> float:
    """Bytes. Raises ValueError where the number is none."""
    if isinstance(value, bool) or not 0 <= float(value) <= MOST_GIB * GIB:
        raise ValueError(value)
    return float(value)
