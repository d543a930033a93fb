"""One headerless `step,value` file per metric: TorchRL's CSVLogger.

The name of the metric is the path below `scalars/`, without `.csv`. Source: torchrl/record/loggers/csv.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, csv
from firstbreak.readers._literal import number

DESCRIPTION = "one step,value file per metric without a header (TorchRL's CSVLogger)"
PRIORITY = 10


def sniff(path: Path, head: bytes) -> bool:
    """Two numbers in the first line, the first of them a whole one."""
    cells = head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    return path.suffix == ".csv" and len(cells) == 2 and cells[0].lstrip("-").isdigit() and number(cells[1]) is not None


def read(path: Path, resume: Any = None) -> Recording:
    """The metric's curve; with `resume`, the points appended since."""
    recording = csv.read(path, resume)
    steps, values = (recording.curves.get(f"column {i}") for i in (1, 2))
    recording.format, recording.indexed_by = "torchrl_csv", "step"
    recording.curves = {}
    if steps and values:
        recording.curves[_name(path)] = csv.on_steps(steps, values)
    return recording


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    below = len(parts) - parts[::-1].index("scalars") if "scalars" in parts else len(parts) - 1
    return "/".join(parts[below:])
