"""The runs below a folder, each with its latest diagnosis. A run is known by its name here, never by a path from outside."""

from __future__ import annotations

import heapq
import math
import os
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.follow import Follower
from firstbreak.engine.read import MAX_FILES, claimed, find_runs
from firstbreak.inputs import Inputs
from firstbreak.model import Action, Diagnosis, Run, Sample, Series
from firstbreak.readers import Unreadable
from firstbreak.reports import curves, json, story
from firstbreak.words import number

MOST_OPEN = 16  #: runs whose curves are kept in memory; of the others only the line in the list
SPARK_POINTS = 60
MOST_SAMPLES = 100_000  #: of a run are looked through
TO_READ = 3  #: samples on the page of the run; the others have a page of their own
Placed = tuple[int, Sample]  #: a sample and its place in the run
_URGENCY = {Action.ROLLBACK: 0, Action.STOP: 0, Action.WATCH: 1, Action.CONTINUE: 3}


@dataclass(frozen=True, kw_only=True)
class Line:
    """What the list says of one run."""

    name: str
    changed: float  #: unix seconds of the latest write
    action: Action | None = None  #: None where there is no diagnosis (yet)
    problem: str = ""  #: why it could not be read
    about: str = ""
    summary: str = ""
    first_break: str = ""
    since: str = ""
    cause: str = ""
    probability: float = 0.0
    score: Series | None = None

    @property
    def urgency(self) -> tuple[int, float]:
        """What needs attention first: stop, watch, unreadable, continue; the latest write before the earlier ones."""
        place = 2 if self.problem else 4 if self.action is None else _URGENCY[self.action]
        return place, -self.changed


class Entry:
    """One run: read on and diagnosed anew when its files have changed, and not otherwise."""

    def __init__(self, name: str, path: Path, root: Path) -> None:
        self.name, self.path, self.root = name, path, root
        self.run: Run | None = None
        self.diagnosis: Diagnosis | None = None
        self.to_read: list[Placed] = []
        self.line = Line(name=name, changed=_changed(path))
        self.grown = 0  #: counts the looks that found new points
        self.revision = 0  #: counts the diagnoses; it follows `grown` by as long as a diagnosis takes
        self._seen: object = None
        self._follower = Follower(path)
        self._lock = threading.Lock()

    def look(self, *, whole: bool = False) -> None:
        """Bring the line up to date, and with `whole` the curves as well where they were closed. Safe to call from threads."""
        with self._lock:
            stamp = _stamp(self.path)
            closed = self.run is None and not self.line.problem
            if stamp == self._seen and not (whole and closed):
                return
            try:
                _stay_inside(self.path, self.root)
                self._follower.update()
                self.run = self._follower.run()
                self.grown += 1
                self.diagnosis = diagnose(self.run)
                self.to_read = _to_read(self.run)
                self.line = _line(self.name, _changed(self.path), self.diagnosis)
            except (
                Exception
            ) as error:  # one run that cannot be read, or our own mistake in one, must not hide the others
                known = isinstance(error, Unreadable)
                problem = str(error) if known else f"{self.path}: the diagnosis failed: {type(error).__name__}: {error}"
                self.run = self.diagnosis = None
                self.line = Line(name=self.name, changed=_changed(self.path), problem=problem)
            self._seen = stamp
            self.revision += 1

    def close(self) -> None:
        """Give back the memory; the next whole look reads from the start."""
        with self._lock:
            self._follower = Follower(self.path)
            self.run = self.diagnosis = None


class Shelf:
    """All runs below `root`. `survey` finds them, `entry` opens one."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._entries: dict[str, Entry] = {}
        self._opened: dict[str, float] = {}

    def survey(self) -> None:
        """Look for runs that came or went. Raises `Unreadable` where the folder itself cannot be opened."""
        found = {_name(path, self.root): path for path in _runs(self.root)}
        known = self._entries
        self._entries = {name: known.get(name) or Entry(name, path, self.root) for name, path in found.items()}

    def entries(self) -> list[Entry]:
        """Every run, what needs attention first."""
        return sorted(self._entries.values(), key=lambda entry: entry.line.urgency)

    def entry(self, name: str) -> Entry | None:
        """The run of that name, up to date and open; None where there is no such run."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        entry.look(whole=True)
        self._opened[name] = time.monotonic()
        self.tidy()
        return entry

    def tidy(self) -> None:
        """Close the runs that were asked for longest ago, those first that only the list asked for."""
        held = [entry for entry in self._entries.values() if entry.run is not None]
        held.sort(key=lambda entry: self._opened.get(entry.name, 0.0), reverse=True)
        for entry in held[MOST_OPEN:]:
            entry.close()

    def state(self) -> int:
        """A number that changes whenever the list does."""
        return zlib.crc32(repr([(entry.name, entry.revision) for entry in self.entries()]).encode())

    def lines(self) -> list[Line]:
        """The list, what needs attention first."""
        return [entry.line for entry in self.entries()]


def _runs(root: Path) -> Iterator[Path]:
    for place in find_runs(root):
        yield from _runs_in_file(place) if place.is_file() else [place]


def _runs_in_file(place: Path) -> list[Path]:
    """A database of several runs gives one address for each."""
    for path, reader in claimed(place):
        names = reader.runs(path) if hasattr(reader, "runs") else []
        if len(names) > 1:
            return [Path(f"{path}#{name}") for name in names]
    return [place]


def _name(path: Path, root: Path) -> str:
    """The run's address on the page: its path below the folder, as strict UTF-8."""
    return json.text(str(path.relative_to(root)) if path != root else root.name)


def _stay_inside(path: Path, root: Path) -> None:
    """Raises `Unreadable` where a file of the run is a link to somewhere outside of the served folder."""
    for file in _files(path):
        if file.is_symlink() and not file.resolve().is_relative_to(root):
            raise Unreadable(file, "is a link that leads out of the served folder", "serve the folder that holds both")


def _files(path: Path) -> Iterator[Path]:
    place = Path(str(path).partition("#")[0])
    if not place.is_dir():
        yield place
        return
    seen = 0
    for folder, _, names in os.walk(place):
        for name in names:
            seen += 1
            if seen > MAX_FILES:
                return
            yield Path(folder) / name


def _stamp(path: Path) -> object:
    """Differs whenever a file of the run has been written, added or removed."""
    return [(str(file), stat.st_size, stat.st_mtime_ns) for file, stat in _stats(path)]


def _changed(path: Path) -> float:
    return max((stat.st_mtime for _, stat in _stats(path)), default=0.0)


def _stats(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for file in _files(path):
        try:
            yield file, file.stat()
        except OSError:  # removed between the listing and this line, or a link to nowhere
            continue


def _line(name: str, changed: float, dx: Diagnosis) -> Line:
    first, causes = dx.first_break, story.causes(dx)
    score = Inputs(dx.run).get("score")
    return Line(
        name=name,
        changed=changed,
        action=dx.verdict.action,
        about=story.title(dx.run),
        summary=dx.verdict.summary,
        first_break="" if first is None else story.place(dx),
        since="" if first is None or first.step is None else number(first.step),
        cause=causes[0].title if causes else "",
        probability=causes[0].probability if causes else 0.0,
        score=_spark(score),
    )


def _to_read(run: Run) -> list[Placed]:
    """The best-rewarded samples of the latest step: what the policy has come to, and is paid for."""

    def late_and_rewarded(placed: Placed) -> tuple[float, float]:
        return _or_least(placed[1].step), _or_least(placed[1].reward)

    trained = (p for p in enumerate(islice(run.samples or (), MOST_SAMPLES)) if p[1].meta.get("split") != "eval")
    return heapq.nlargest(TO_READ, trained, key=late_and_rewarded)


def _or_least(number: float | None) -> float:
    return -math.inf if number is None or math.isnan(number) else number


def _spark(score: Series | None) -> Series | None:
    """The score, thin enough for a line of the list."""
    pieces = [] if score is None else curves.thin(score.finite, SPARK_POINTS)
    return pieces[0] if pieces and len(pieces[0]) > 1 else None
