"""The runs below a folder, each with its latest diagnosis. Requests address a run by its name, never by a path."""

import heapq
import itertools
import math
import os
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from firstbreak.compare.arms import Member
from firstbreak.compare.baseline import EarlierFolder
from firstbreak.compare.sentences import cell
from firstbreak.dialects import signals
from firstbreak.engine.diagnose import diagnose, healthy
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Action, Diagnosis, LinkStatus, Run, Sample, Series
from firstbreak.readers import Unreadable
from firstbreak.readers.follow import Follower
from firstbreak.readers.grouping import find_runs, without_log
from firstbreak.readers.opening import beneath
from firstbreak.readers.read import MAX_FILES, claimed, files
from firstbreak.reports import content, curves, json
from firstbreak.values import dataclass, field, replace
from firstbreak.words import moment, shortened

MOST_OPEN = 100  #: runs whose curves are kept in memory; for other runs only the summary is kept
ALWAYS_OPEN, MOST_POINTS = 20, 50_000_000  #: so many are kept however large they are; of more, this many points in all
SPARK_POINTS = 60
MOST_SAMPLES = 100_000  #: samples of a run that are searched
MOST_COMPARED = MOST_OPEN  #: runs in one comparison
MOST_SETTINGS, LONGEST_SETTING = 300, 40  #: of a run, and characters of one
TO_READ = 3  #: samples on the page of a run; all samples are on a page of their own
Placed = tuple[int, Sample]  #: a sample and its place in the run
#: what needs attention first, as in a survey
ORDER = (Action.ROLLBACK, Action.STOP, Action.WATCH, None, LinkStatus.NOT_MEASURED, Action.CONTINUE)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSummary:
    """One row of the list of runs."""

    name: str
    changed: float  #: time of the latest write, in unix seconds
    action: Action | LinkStatus | None = None  #: `content.mark` of the verdict; None where there is no diagnosis (yet)
    problem: str = ""  #: why it could not be read
    about: str = ""
    first_break: str = ""
    since: str = ""
    reason: str = ""  #: the probable causes, or what the score does
    broken: float = 0.0  #: probability that anything is wrong
    wasted: float = 0.0  #: share of the run since the break
    score: Series | None = None
    last: float | None = None  #: level of the score at the end, and at its best
    best: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)  #: the last value, and the best one

    @property
    def urgency(self) -> tuple[int, float, float, str]:
        """Sort key for attention: the verdict, then the probability of a break, then the share of the run since it."""
        being_read = self.action is None and not self.problem
        place = len(ORDER) if being_read else ORDER.index(self.action)
        return place, -round(self.broken, 2), -self.wasted, self.name


class StoredRun:
    """One run. It is read and diagnosed again when its files have changed."""

    def __init__(self, name: str, path: Path, root: Path, earlier: EarlierFolder | None = None) -> None:
        self.name, self.path, self.root, self.earlier = name, path, root, earlier
        self.run: Run | None = None
        self.diagnosis: Diagnosis | None = None
        self.to_read: list[Placed] = []
        self.summary = RunSummary(name=name, changed=_changed(path))
        # Both begin at the time: a page that outlives its server must not take the next one's first diagnosis for its own.
        began = time.time_ns() // 1_000_000
        self.grown = began  #: increases with each update that finds new points
        self.revision = began  #: increases with each diagnosis, after `grown`, when the diagnosis is ready
        self.history: list[tuple[float | None, str]] = []  #: (last step, verdict) of each change since it is served
        self._seen: object = None
        self._follower = Follower(path)
        self._lock = threading.Lock()

    def update(self, *, whole: bool = False) -> None:
        """Update the summary. With `whole`, also load the curves of a closed run. Safe to call from threads."""
        with self._lock:
            stamp = [(str(file), stat.st_size, stat.st_mtime_ns) for file, stat in _stats(self.path)]
            closed = self.run is None and not self.summary.problem
            if stamp == self._seen and not (whole and closed):
                return
            try:
                with beneath(self.root):
                    self._follower.update()
                self.run = self._follower.run()
                self.grown += 1
                self.diagnosis = diagnose(self.run)
                if self.earlier is not None:
                    self.diagnosis = replace(self.diagnosis, baseline=self.earlier.compare(self.run))
                word = content.ACTION_WORD[content.mark(self.diagnosis.verdict)]
                if not self.history or self.history[-1][1] != word:
                    self.history.append((self.run.last_step, word))
                self.to_read = _to_read(self.run)
                self.summary = _summary(self.name, _changed(self.path), self.diagnosis)
            except Exception as error:  # a run that cannot be read, or our mistake in one, must not hide the others
                known = isinstance(error, Unreadable)
                problem = str(error) if known else f"the diagnosis failed: {type(error).__name__}: {error}"
                problem = problem.replace(f"{self.root}{os.sep}", "").removeprefix(f"{self.name}: ")
                self.run = self.diagnosis = None
                self.summary = RunSummary(name=self.name, changed=_changed(self.path), problem=problem)
            self._seen = stamp
            self.revision += 1

    @property
    def busy(self) -> bool:
        """Whether it is being read and diagnosed."""
        return self._lock.locked()

    def close(self) -> None:
        """Free the memory. The next whole update reads the run from the start."""
        with self._lock:
            self._follower = Follower(self.path)
            self.run = self.diagnosis = None


class RunStore:
    """All runs below `root`. `survey` finds them, `entry` opens one. `baseline` is a folder of earlier runs of the user."""

    def __init__(self, root: Path, baseline: Path | None = None) -> None:
        self.root = root.resolve()
        self.earlier = None if baseline is None else EarlierFolder(baseline)
        self._entries: dict[str, StoredRun] = {}
        self._opened: dict[str, float] = {}
        self.without_log: list[str] = []  #: folders beside the runs in which nothing could be read

    def survey(self) -> None:
        """Find new and removed runs. Raises `Unreadable` where the folder itself cannot be opened."""
        places = _runs(self.root)
        self.without_log = [_name(folder, self.root) for folder in without_log(self.root, places)]
        found = {_name(path, self.root): path for path in places}
        known = self._entries
        self._entries = {n: known.get(n) or StoredRun(n, path, self.root, self.earlier) for n, path in found.items()}

    def entries(self) -> list[StoredRun]:
        """Every run. Runs that need attention come first."""
        return sorted(self._entries.values(), key=lambda entry: entry.summary.urgency)

    def waiting(self) -> list[StoredRun]:
        """The runs that may have changed, those with the smallest files first; runs that are being diagnosed are left out."""
        return sorted(
            (entry for entry in self._entries.values() if not entry.busy),
            key=lambda entry: sum(stat.st_size for _, stat in _stats(entry.path)),
        )

    def entry(self, name: str) -> StoredRun | None:
        """The run with this name, updated and loaded. None for an unknown name."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        entry.update(whole=True)
        self._opened[name] = time.monotonic()
        self.tidy()
        return entry

    def tidy(self) -> None:
        """Close the runs with the oldest requests. Runs that were never opened are closed first."""
        held = [entry for entry in self._entries.values() if entry.run is not None and not entry.busy]
        held.sort(key=lambda entry: self._opened.get(entry.name, 0.0), reverse=True)
        points = itertools.accumulate(sum(map(len, e.run.series.values())) if e.run else 0 for e in held)
        for i, (entry, so_far) in enumerate(zip(held, points, strict=True)):
            if i >= MOST_OPEN or (i >= ALWAYS_OPEN and so_far > MOST_POINTS):
                entry.close()

    def state(self) -> int:
        """A number that changes whenever the list changes."""
        seen = [(entry.name, entry.revision) for entry in self.entries()]
        return zlib.crc32(repr((seen, self.without_log)).encode())

    def summaries(self) -> list[RunSummary]:
        """The rows of the list. Runs that need attention come first."""
        return [entry.summary for entry in self.entries()]


def _runs(root: Path) -> list[Path]:
    """The runs below a served folder. It is one itself only with a file that a reader knows, or that may be meant for one."""
    with beneath(root):
        found = [_runs_in_file(place) if place.is_file() else [place] for place in find_runs(root)]
        bare = root.is_dir() and not any(True for _ in files(root))
    return [path for path in itertools.chain.from_iterable(found) if path != root or not bare]


def _runs_in_file(place: Path) -> list[Path]:
    """A database with several runs gives one path for each run."""
    for path, reader in claimed(place):
        names = reader.runs(path) if hasattr(reader, "runs") else []
        if len(names) > 1:
            return [Path(f"{path}#{name}") for name in names]
    return [place]


def _name(path: Path, root: Path) -> str:
    """The name of a run: its path below the folder, as strict UTF-8."""
    return json.text(str(path.relative_to(root)) if path != root else root.name)


def _files(path: Path) -> Iterator[Path]:
    place = Path(str(path).partition("#")[0])
    if not place.is_dir():
        yield place
        return
    yield from islice((Path(folder) / name for folder, _, names in os.walk(place) for name in names), MAX_FILES)


def _changed(path: Path) -> float:
    return max((stat.st_mtime for _, stat in _stats(path)), default=0.0)


def _stats(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for file in _files(path):
        try:
            yield file, file.stat()
        except OSError:  # removed since the listing, or a broken link
            continue


def _summary(name: str, changed: float, dx: Diagnosis) -> RunSummary:
    first = dx.first_break
    score = Inputs(dx.run).score
    return RunSummary(
        name=name,
        changed=changed,
        action=content.mark(dx.verdict),
        about=content.title(dx.run),
        first_break="" if first is None else content.links(first),
        since="" if first is None else moment(dx.run.axis_of(first.metric), first.step, None),
        reason=content.reason(dx),
        broken=1 - healthy(dx.causes),
        wasted=(dx.cost.fraction if dx.cost else None) or 0.0,
        score=_spark(score),
        last=None if dx.score is None or math.isnan(dx.score.end) else dx.score.end,
        best=content.best_score(dx),
        settings=_settings(dx.run),
        metrics={n: _ends(s.finite) for n, s in dx.run.series.items() if len(s.finite)},
    )


def _settings(run: Run) -> dict[str, str]:
    """What a column of the list can show: the recorded options, else what names and first lines tell."""
    found = islice(Member(run, None).logged.items(), MOST_SETTINGS)
    return {json.text(name): shortened(json.text(cell(value)), LONGEST_SETTING) for name, value in found}


def _ends(series: Series) -> tuple[float, float | None]:
    """The last value, and the best one where the vocabulary says which way is better."""
    signal = signals.lookup(series.name)
    best = {"up": series.values.max, "down": series.values.min}.get(signal.better or "") if signal else None
    return float(series.values[-1]), None if best is None else float(best())


def _to_read(run: Run) -> list[Placed]:
    """The samples with the highest rewards of the latest step: what the policy does now, and is rewarded for."""
    trained = (p for p in enumerate(islice(run.samples or (), MOST_SAMPLES)) if p[1].meta.get("split") != "eval")
    return heapq.nlargest(TO_READ, trained, key=lambda placed: (_or_least(placed[1].step), _or_least(placed[1].reward)))


def _or_least(number: float | None) -> float:
    return -math.inf if number is None or math.isnan(number) else number


def _spark(score: Series | None) -> Series | None:
    """The score, thinned for a row of the list."""
    pieces = [] if score is None else curves.thin(score.finite, SPARK_POINTS)
    return pieces[0] if pieces and len(pieces[0]) > 1 else None
