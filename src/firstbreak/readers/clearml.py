"""ClearML's offline sessions: `offline-<id>/` or the same as a zip file.

A line of `metrics.jsonl` is a JSON array of events. ClearML stores NaN and infinities as 0.0 and says so in `log.jsonl`,
the run's console.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._json import loads
from firstbreak.readers._options import value as option
from firstbreak.readers._points import Points
from firstbreak.readers._tail import Cursor, Lines, still_holds
from firstbreak.readers.opening import head_of, open_file

DESCRIPTION = "ClearML offline session (offline-<id>/ or offline-<id>.zip)"
FILES = ("*.zip", "task.json")

_METRICS, _TASK, _CONSOLE = "metrics.jsonl", "task.json", "log.jsonl"
_SCALAR = "training_stats_scalar"
_SINGLE_VALUE = -(2**31)  #: the iteration of a value that belongs to none
_REPLACED = (b"NaN value encountered. Reporting it as", b"inf value encountered. Reporting it as")
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError)
_MAX_MEMBER = 1 << 31  # bytes; a zip file that unpacks to more is a bomb
_MAX_TASK = 1 << 26


def sniff(path: Path, head: bytes) -> bool:
    """A zip file with a session's members."""
    if path.suffix != ".zip" or not head.startswith(b"PK\x03\x04"):
        return False
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            return {_METRICS, _TASK} <= set(archive.namelist())
    except (*_ZIP_ERRORS, Unreadable):
        return False


def claims(folder: Path) -> bool:
    """A session's folder: its metrics are lines of arrays."""
    if not (folder / _TASK).is_file():
        return False
    try:
        return head_of(folder / _METRICS)[:2] in (b"[{", b"")
    except Unreadable:
        return False


def read(path: Path, resume: Any = None) -> Recording:
    """Every scalar as `metric/variant`, with its iteration as the step; connected options as config."""
    session = _Session()
    recording = Recording(format="clearml", indexed_by="step")
    if path.is_dir():
        cursor = still_holds(path / _METRICS, resume)
        with open_file(path / _METRICS) as metrics:
            recording.resume = session.take_metrics(metrics, cursor)
        recording.replaces = resume is not None and cursor is None
    else:
        with _member(path, _METRICS) as metrics:
            session.take_metrics(metrics, None)
    recording.curves, recording.config = session.points.curves(), _config(path)
    recording.order = session.started
    if session.broken:
        recording.damage.append(f"{_METRICS}: left out {session.broken} lines or events that ClearML does not write")
    if _says_replaced(path):
        recording.notes.append("ClearML stored NaN or infinities as 0.0: a value of exactly 0 may be one")
    return recording


@contextmanager
def _member(path: Path, name: str) -> Iterator[BinaryIO]:
    """One file of a session, folder or zip. Raises Unreadable where it is not there or is damaged."""
    if path.is_dir():
        with open_file(path / name) as file:
            yield file
        return
    try:
        with open_file(path) as packed, zipfile.ZipFile(packed) as archive:
            if archive.getinfo(name).file_size > _MAX_MEMBER:
                raise Unreadable(path, f"{name} unpacks to more than 2 GiB", "unpack it and give the folder")
            with archive.open(name) as member:
                yield cast(BinaryIO, member)
    except KeyError:
        raise Unreadable(path, f"holds no {name}", "give an offline session of ClearML") from None
    except _ZIP_ERRORS as error:
        raise Unreadable(path, f"{name} cannot be unpacked ({error})", "copy the file again") from None


def _says_replaced(path: Path) -> bool:
    try:
        with _member(path, _CONSOLE) as console:
            return any(sign in block for block in Lines(console).blocks() for sign in _REPLACED)
    except Unreadable:
        return False


def _config(path: Path) -> dict[str, Any]:
    """The options of every section, named `section.option`."""
    try:
        with _member(path, _TASK) as file:
            sections = loads(file.read(_MAX_TASK))["hyperparams"]
    except (Unreadable, ValueError, TypeError, KeyError):
        return {}
    if not isinstance(sections, Mapping):
        return {}
    return {
        f"{section}.{name}".replace("/", "."): option(str(entry["value"]))
        for section, options in sections.items()
        if isinstance(options, Mapping)
        for name, entry in options.items()
        if isinstance(entry, Mapping) and "value" in entry
    }


class _Session:
    """Lines of events in, points out."""

    def __init__(self) -> None:
        self.points = Points()
        self.started = 0.0
        self.broken = 0

    def take_metrics(self, file: BinaryIO, cursor: Cursor | None) -> Cursor:
        """Adds the lines that have come since the cursor."""
        lines = Lines(file, cursor.offset if cursor else 0)
        for block in lines.blocks():
            for line in block.splitlines():
                self._take_line(line)
        self.broken += lines.skipped
        return lines.cursor(0)

    def _take_line(self, line: bytes) -> None:
        try:
            events = loads(line)
        except ValueError:
            events = [None]
        for event in events if isinstance(events, list) else [events]:
            try:
                self._take_event(event)
            except (TypeError, ValueError, KeyError, OverflowError):
                self.broken += 1

    def _take_event(self, event: dict[str, Any]) -> None:
        seconds = float(event["timestamp"]) / 1e3
        self.started = self.started or seconds
        if event["type"] == _SCALAR and event["iter"] != _SINGLE_VALUE:
            name = f"{event['metric']}/{event['variant']}"
            self.points.add(name, float(event["iter"]), float(event["value"]), seconds)
