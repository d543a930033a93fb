"""One `step<TAB>name` file per metric below `plots/metrics/`: DVCLive.

The name of the metric is the path below `metrics/`, because the header holds only its last part.
"""

from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, csv

DESCRIPTION = "one step/value file per metric below plots/metrics (DVCLive)"
FILES = ("*.tsv",)
PRIORITY = 10


def sniff(path: Path, head: bytes) -> bool:
    """A .tsv file below plots/metrics whose first column is the step."""
    return path.suffix == ".tsv" and _place(path) is not None and head.startswith(b"step\t")


def read(path: Path, resume: Any = None) -> Recording:
    """The metric's curve; with `resume`, the points appended since."""
    recording = csv.read(path, resume)
    steps = recording.curves.pop("step", None)
    value = next((curve for name, curve in recording.curves.items() if name != "timestamp"), None)
    recording.format, recording.indexed_by, recording.curves = "dvclive", "step", {}
    if steps and value:
        recording.curves["/".join(path.with_suffix("").parts[_place(path) :])] = csv.on_steps(steps, value)
    return recording


def _place(path: Path) -> int | None:
    """Where the metric's name begins among the parts of the path."""
    parts = path.parts
    found = [i + 2 for i in range(len(parts) - 2) if parts[i : i + 2] == ("plots", "metrics")]
    return found[-1] if found else None
