"""TorchRL's CSVLogger: one headerless `step,value` file per metric, and the options as text.

The name of the metric is the path below `scalars/`, without `.csv`; the options are `texts/hparams<n>.txt`, one
`name: str(value)` per line. Source: torchrl/record/loggers/csv.py
"""

import re
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable, csv
from firstbreak.readers._literal import number
from firstbreak.readers._options import flat
from firstbreak.readers._options import value as option
from firstbreak.readers.opening import read_whole

DESCRIPTION = "one step,value file per metric without a header (TorchRL's CSVLogger)"
FILES = ("*.csv", "hparams*.txt")
PRIORITY = 10

_OPTIONS = re.compile(r"hparams\d+\.txt")
_MAX_OPTIONS = 1 << 22  # bytes


def sniff(path: Path, head: bytes) -> bool:
    """Two numbers in the first line, the first of them a whole one; or the options."""
    if _holds_options(path):
        return b"\0" not in head
    cells = head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    return path.suffix == ".csv" and len(cells) == 2 and cells[0].lstrip("-").isdigit() and number(cells[1]) is not None


def read(path: Path, resume: Any = None) -> Recording:
    """The metric's curve, with `resume` the points appended since; or the options."""
    if _holds_options(path):
        return _options(path, resume)
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


def _holds_options(path: Path) -> bool:
    return path.parent.name == "texts" and _OPTIONS.fullmatch(path.name) is not None


def _options(path: Path, resume: Any) -> Recording:
    lines = read_whole(path, _MAX_OPTIONS).decode("utf-8", "replace").splitlines()
    pairs = (line.partition(": ") for line in lines)
    config = flat({name: option(written) for name, colon, written in pairs if name and colon})
    if not config:
        raise Unreadable(path, "holds no options", "check that TorchRL's CSVLogger wrote it")
    return Recording(format="torchrl_csv", indexed_by="step", config=config)
