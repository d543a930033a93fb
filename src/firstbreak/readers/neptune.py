"""Neptune runs kept on disk: `.neptune/offline/run__<id>__...` and `.neptune/async/...`, one JSON operation per line.

Neptune's client leaves out NaN and infinities, so a gap in a curve may stand for them.
"""

from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._growing import GrowingFiles
from firstbreak.readers._json import loads
from firstbreak.readers._points import Points

DESCRIPTION = "Neptune offline or async run (.neptune/offline/run__<id>__<pid>)"
FILES, HEADS = ("metadata.json",), (b'{"obj": {"type"', b'{"obj":{"type"')

_OWN = frozenset({"sys", "monitoring", "source_code"})  #: what the client records by itself
_ASSIGNMENTS = frozenset({"AssignFloat", "AssignInt", "AssignString", "AssignBool"})
_SERIES = frozenset({"LogFloats"})


def sniff(path: Path, head: bytes) -> bool:
    """A file of operations."""
    return head.startswith(HEADS)


def claims(folder: Path) -> bool:
    """A folder of operation files with its metadata."""
    return (folder / "metadata.json").is_file() and any(folder.glob("data-*.log"))


def read(path: Path, resume: Any = None) -> Recording:
    """Every float series with its own steps; assigned values as config."""
    files = sorted(path.glob("data-*.log"), key=_number) if path.is_dir() else [path]
    if not files:
        raise Unreadable(path, "holds no data-*.log", "give the folder of one Neptune run")
    operations = GrowingFiles({file.name: file for file in files}, resume)
    run = _NeptuneRun()
    for name in operations.files:
        for _, line in operations.lines(name):
            run.take(line)
    recording = Recording(
        format="neptune", curves=run.points.curves(), indexed_by="step", config=run.config, order=run.started
    )
    if run.broken:
        recording.damage.append(f"left out {run.broken} lines that are no Neptune operation; copy the folder again")
    return operations.close(recording)


def _number(file: Path) -> int:
    digits = file.stem.removeprefix("data-")
    return int(digits) if digits.isdecimal() else 0


class _NeptuneRun:
    """Operations in, points and config out."""

    def __init__(self) -> None:
        self.points = Points()
        self.config: dict[str, Any] = {}
        self.started = 0.0
        self.broken = 0

    def take(self, line: bytes) -> None:
        """Adds one operation."""
        try:
            self._take_operation(loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            self.broken += 1

    def _take_operation(self, line: dict[str, Any]) -> None:
        operation = line["obj"]
        self.started = self.started or float(line.get("at", 0))
        path = [str(part) for part in operation["path"]]
        if operation["type"] in _SERIES:
            for point in operation["values"]:
                self.points.add("/".join(path), float(point["step"] or 0), float(point["value"]), float(point["ts"]))
        elif operation["type"] in _ASSIGNMENTS and path[0] not in _OWN:
            self.config[".".join(path)] = operation["value"]
