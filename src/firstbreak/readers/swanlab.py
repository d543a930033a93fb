"""SwanLab runs: the folder `swanlog/run-<time>-<id>` with its record file `run-<id>.swanlab`, or with text logs.

The record file is a block log of protobuf messages (swanlab/record/v1/record.proto). Versions before 0.6 wrote text in
its place: `logs/<name>/<n>.log`, one JSON object per point.
"""

from datetime import datetime
from pathlib import Path
from struct import unpack_from
from typing import Any
from urllib.parse import unquote

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._blocklog import FILE_HEADER, BlockLog
from firstbreak.readers._growing import GrowingFiles
from firstbreak.readers._json import loads
from firstbreak.readers._points import Points
from firstbreak.readers._protobuf import Malformed, Records, fields, first_int, signed, text
from firstbreak.readers._tail import Cursor, fingerprint, still_holds
from firstbreak.readers.opening import open_file

_MAGIC = b":SWL\xd6\xe1"
DESCRIPTION = "SwanLab run (swanlog/run-<time>-<id>, run-<id>.swanlab)"
FILES, HEADS = ("run-*.swanlab", "files"), (_MAGIC,)

_VERSION = 2
_START, _FINISH, _SCALAR = 10, 11, 13  #: fields of Record
_STATES = {2: "crashed", 3: "was aborted"}


def sniff(path: Path, head: bytes) -> bool:
    """The record file's identifier."""
    return head.startswith(_MAGIC)


def claims(folder: Path) -> bool:
    """A run's folder: its record file, or text logs beside its own metadata."""
    return any(folder.glob("run-*.swanlab")) or (
        (folder / "files" / "swanlab-metadata.json").is_file() and (folder / "logs").is_dir()
    )


def read(path: Path, resume: Any = None) -> Recording:
    """Every scalar with its own steps; the run's config from the folder beside the record file."""
    folder = path if path.is_dir() else path.parent
    files = sorted(folder.glob("run-*.swanlab")) if path.is_dir() else [path]
    recording = _read_records(files[0], resume) if files else _read_texts(folder, resume)
    recording.config = _config(folder)
    return recording


def _config(folder: Path) -> dict[str, Any]:
    """`files/config.yaml` holds {name: {value, desc, sort}}."""
    from firstbreak.readers import config_file  # brings a reader of YAML

    try:
        flat = config_file.read(folder / "files" / "config.yaml").config
    except Unreadable:
        return {}
    config: dict[str, Any] = {}
    for name in (key.removesuffix(".sort") for key in flat if key.endswith(".sort")):
        whole = f"{name}.value"
        config |= {name + key.removeprefix(whole): v for key, v in flat.items() if f"{key}.".startswith(f"{whole}.")}
    return config


# --- the record file -------------------------------------------------------------------------------------------------


def _read_records(path: Path, resume: Any) -> Recording:
    cursor = still_holds(path, resume)
    run = _SwanlabRun()
    with open_file(path) as file:
        header = file.read(FILE_HEADER)
        if not (_MAGIC + bytes([_VERSION])).startswith(header):
            raise Unreadable(path, "is no SwanLab record file of a known version", "export the run's metrics to CSV")
        log = BlockLog(file, cursor.offset if cursor else FILE_HEADER)
        for record in log.records():
            run.take(record)
        position = Cursor(log.offset, 0, fingerprint(file, log.offset)) if len(header) == FILE_HEADER else None
    return Recording(
        format="swanlab",
        curves=run.points.curves(),
        indexed_by="step",
        order=run.started,
        damage=[*log.damage(), *run.damage()],
        cut=log.cut,
        notes=[*log.notes(), *run.notes()],
        resume=position,
        replaces=resume is not None and cursor is None,
    )


class _SwanlabRun(Records):
    """Records in, points out."""

    def __init__(self) -> None:
        self.points = Points()
        self.started = 0.0
        self._state: int | None = None
        self.takes = {_SCALAR: self._take_scalar, _START: self._take_start, _FINISH: self._take_finish}

    def _take_start(self, data: bytes, span: slice) -> None:
        self.started = _seconds(data, dict(fields(data, span.start, span.stop)).get(12))

    def _take_finish(self, data: bytes, span: slice) -> None:
        self._state = first_int(data, span)

    def _take_scalar(self, data: bytes, span: slice) -> None:
        """{1 key, 2 step, 4 timestamp, 5 {1 double}}; a zero is left out."""
        parts = dict(fields(data, span.start, span.stop))
        key, step, value = parts.get(1), parts.get(2, 0), parts.get(5)
        if not isinstance(key, slice) or not isinstance(step, int) or not isinstance(value, slice):
            raise Malformed("a scalar without name or value")
        number = 0.0
        for n, at in fields(data, value.start, value.stop):
            if n == 1 and isinstance(at, slice) and at.stop - at.start == 8:
                (number,) = unpack_from("<d", data, at.start)
        self.points.add(text(data, key), signed(step), number, _seconds(data, parts.get(4)))

    def damage(self) -> list[str]:
        """What was no SwanLab record."""
        return [f"left out {self.malformed} records that SwanLab does not write"] if self.malformed else []

    def notes(self) -> list[str]:
        """How the run ended."""
        if self._state is None:
            return ["no finish record: the run is still going on, or was killed"]
        return [f"the run {_STATES[self._state]}"] if self._state in _STATES else []


def _seconds(data: bytes, timestamp: int | slice | None) -> float:
    """A google.protobuf.Timestamp: {1 seconds, 2 nanoseconds}."""
    if not isinstance(timestamp, slice):
        return 0.0
    return first_int(data, timestamp) + first_int(data, timestamp, 2) / 1e9


# --- text logs -------------------------------------------------------------------------------------------------------


def _read_texts(folder: Path, resume: Any) -> Recording:
    """`logs/<column>/<n>.log`; a column is its name, percent-encoded, or in later versions its number."""
    files = sorted(folder.glob("logs/*/*.log"), key=lambda file: (file.parent.name, len(file.name), file.name))
    if not files:
        raise Unreadable(folder, "holds no record file and no logs", "give the folder of one SwanLab run")
    logs = GrowingFiles({f"{file.parent.name}/{file.name}": file for file in files}, resume)
    points, broken = Points(), 0
    for name, file in logs.files.items():
        for _, line in logs.lines(name):
            try:
                _take_text(loads(line), unquote(file.parent.name), points)
            except (ValueError, TypeError, KeyError, OverflowError):
                broken += 1
    recording = Recording(format="swanlab", curves=points.curves(), indexed_by="step")
    if any(file.parent.name.isdecimal() for file in files):
        recording.notes.append("the record file is missing, so curves have the numbers of their columns for names")
    if broken:
        recording.damage.append(f"logs: left out {broken} lines that hold no point; copy the folder again")
    return logs.close(recording)


def _take_text(point: dict[str, Any], name: str, points: Points) -> None:
    if not isinstance(point["data"], list):  # media are lists of file names
        time = datetime.fromisoformat(point["create_time"]).timestamp()
        points.add(name, float(point["index"]), float(point["data"]), time)
