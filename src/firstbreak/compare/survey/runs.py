"""Find every run below some folders, diagnose them in a pool of processes (or on Ray), and keep one row of each."""

import hashlib
import json
import multiprocessing
import os
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from multiprocessing.process import BaseProcess
from pathlib import Path

from firstbreak import __version__
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.thresholds import Thresholds, for_run
from firstbreak.model import EMPTY, Action, Diagnosis
from firstbreak.processes import end_with_parent
from firstbreak.readers import Unreadable, readers
from firstbreak.readers.grouping import ROOT_OF_A_RUN, find_runs
from firstbreak.readers.names import for_run as names_for_run
from firstbreak.readers.read import PARTS_OF_A_RUN, claimed, read
from firstbreak.reports import content
from firstbreak.values import dataclass
from firstbreak.words import lowered

AHEAD = 4  #: runs handed to the pool per process before their results are taken
CHUNK = 25  #: runs of one task on Ray
SKIPPED = frozenset({"__pycache__", ".git", ".venv", "node_modules"})
UNREADABLE = "unreadable"
CANNOT_TELL = "cannot tell"
#: what needs attention first
ORDER = (Action.ROLLBACK.value, Action.STOP.value, Action.WATCH.value, UNREADABLE, CANNOT_TELL, Action.CONTINUE.value)


@dataclass(frozen=True, kw_only=True)
class SurveyRow:
    """The result of one run."""

    path: str
    #: of the run's files (names, sizes, times) and of thresholds that are set: what changed is diagnosed again
    fingerprint: str = ""
    action: str  #: continue, watch, stop, rollback, or "unreadable"
    summary: str
    link: str | None = None
    place: str = ""  #: the link in words, or two that cannot be told apart
    cause: str | None = None
    probability: float | None = None  #: of the cause
    broken: float = 0.0  #: probability that anything is wrong
    onset: float | None = None
    last_step: float | None = None
    wasted: float | None = None  #: share of the run since the break
    trainer: str | None = None
    do_first: str = ""
    reason: str = ""  #: the probable causes, or what the score does, in words
    axis: str = "step"  #: what `onset` counts
    now: float | None = None  #: the score at the end, and the best one
    best: float | None = None
    best_step: float | None = None
    score: str = ""  #: the signal that `now` and `best` are of
    known: bool = True  #: False where the log is too short to tell

    @property
    def verdict(self) -> str:
        """The action, or that the log is too short for one."""
        return self.action if self.known else CANNOT_TELL

    @property
    def urgency(self) -> tuple[int, float, float, str]:
        """Sort key for attention: the verdict, then the probability of a break, then the share of the run since the break."""
        return (ORDER.index(self.verdict), -round(self.broken, 2), -(self.wasted or 0.0), self.path)


# --- which runs --------------------------------------------------------------------------------------------------------


def find(place: Path) -> Iterator[Path]:
    """Every run below a path, folder by folder, in time proportional to the number of files.

    Inside a folder that may be one run, `find_runs` decides. A folder without files of a run and without subfolders that
    look like parts of a run only holds other runs.
    """
    if not place.is_dir() or any(reader.claims(place) for reader in readers().of_folder(place, place.name)):
        yield place
        return
    entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    folders = [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False) and e.name not in SKIPPED]
    files = [e.name for e in entries if os.path.isfile(e)]
    if not folders:
        yield from [place] if files and any(True for _ in claimed(place)) else []
    elif _may_be_one(files, folders):
        yield from find_runs(place)
    else:
        for folder in folders:
            yield from find(folder)


def _may_be_one(files: Sequence[str], folders: Sequence[Path]) -> bool:
    own = any(map(ROOT_OF_A_RUN.search, files)) or (files and len(folders) == 1)
    return bool(own) or any(PARTS_OF_A_RUN.match(folder.name) for folder in folders)


def fingerprint(run: Path, thresholds: Thresholds = EMPTY) -> str:
    """Names, sizes and times of a run's files, the version that reads them, and what the user has set, as one hash."""
    digest = hashlib.sha256(__version__.encode())
    digest.update(json.dumps(thresholds, sort_keys=True).encode() if thresholds else b"")
    digest.update(json.dumps(names, sort_keys=True).encode() if (names := names_for_run(run)) else b"")
    files = [run] if run.is_file() else sorted(Path(at) / name for at, _, files in os.walk(run) for name in files)
    for path in files:
        try:
            state = path.stat()
        except OSError:  # a broken link: no reader sees it either
            continue
        digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


# --- one run -----------------------------------------------------------------------------------------------------------


def examine(path: str, trainer: str | None = None, thresholds: Thresholds = EMPTY) -> SurveyRow:
    """Diagnose one run. What cannot be read, or breaks a reader, is a row as well."""
    seen = ""
    try:
        seen = fingerprint(Path(path), thresholds)
        return row_of(path, diagnose(read(path, trainer=trainer), thresholds=thresholds), seen)
    except Unreadable as error:
        return SurveyRow(path=path, fingerprint=seen, action=UNREADABLE, summary=str(error).removeprefix(f"{path}: "))
    except Exception as error:  # one run that crashes must not stop the others
        return SurveyRow(path=path, fingerprint=seen, action=UNREADABLE, summary=f"{type(error).__name__}: {error}")


def row_of(path: str, dx: Diagnosis, seen: str = "") -> SurveyRow:
    """The row of a diagnosed run."""
    top = next((cause for cause in dx.causes if cause.link is not None), None)
    named = top if dx.first_break is not None else None
    healthy = next((cause.probability for cause in dx.causes if cause.id == HEALTHY), 0.0)
    return SurveyRow(
        path=path,
        fingerprint=seen,
        action=dx.verdict.action.value,
        summary=dx.verdict.summary,
        link=dx.first_break.link.value if dx.first_break else None,
        place=content.links(dx.first_break) if dx.first_break else "",
        cause=named.id if named else None,
        probability=round(named.probability, 4) if named else None,
        broken=round(1 - healthy, 4),
        onset=dx.first_break.step if dx.first_break else None,
        last_step=dx.run.last_step,
        wasted=dx.cost.fraction if dx.cost else None,
        trainer=dx.run.trainer,
        do_first=dx.verdict.do_first,
        reason=lowered(content.reason(dx)),
        axis=dx.run.axis_of(dx.first_break.metric if dx.first_break else None),
        known=dx.verdict.known,
        now=dx.score.end if dx.score else None,
        best=content.best_score(dx),
        best_step=dx.score.best_step if dx.score else None,
        score=dx.score.metric if dx.score else "",
    )


# --- all of them -------------------------------------------------------------------------------------------------------


def survey(
    places: Iterable[str | os.PathLike[str]],
    *,
    store: Path,
    processes: int = 1,
    ray_address: str | None = None,
    trainer: str | None = None,
    thresholds: Thresholds = EMPTY,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[SurveyRow]:
    """One row for every run below the places. Runs that need attention come first.

    Each row is appended to `store` as soon as it is there. A run that has not changed since is not diagnosed again, so a
    survey that was interrupted goes on where it stopped. `thresholds` count before those of firstbreak.toml. The survey starts
    processes: in a script, call it below `if __name__ == "__main__":`.
    """
    paths = list(dict.fromkeys(str(run) for place in places for run in find(Path(place))))
    settings = {path: for_run(path, thresholds) for path in paths}
    known = {row.path: row for row in load(store) if row.path in settings}
    rows = [row for path, row in known.items() if row.fingerprint == fingerprint(Path(path), settings[path])]
    done = {row.path for row in rows}
    waiting = {path: settings[path] for path in paths if path not in done}
    source = _on_ray(waiting, ray_address, trainer) if ray_address else _on_cores(waiting, processes, trainer)
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a", encoding="utf-8") as lines:
        for row in source:
            rows.append(row)
            lines.write(json.dumps(asdict(row)) + "\n")
            lines.flush()
            report(len(rows), len(paths))
    return sorted(rows, key=lambda row: row.urgency)


def cache(places: Iterable[str | os.PathLike[str]]) -> Path:
    """The default file for the rows of a survey of these places, in the user's cache folder."""
    home = Path(tempfile.gettempdir())
    with suppress(RuntimeError):  # a user without a name has no home
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    whole = "\0".join(sorted(str(Path(place).resolve()) for place in places))
    return home / "firstbreak" / f"fleet-{hashlib.sha256(whole.encode()).hexdigest()[:12]}.jsonl"


def load(store: Path) -> list[SurveyRow]:
    """The rows of a store. Lines that were cut by a crash, or come from another version, are left out."""
    names = {f.name for f in fields(SurveyRow)}
    rows = []
    for line in store.read_text("utf-8").splitlines() if store.exists() else ():
        try:
            content = json.loads(line)
        except ValueError:
            continue
        if isinstance(content, dict) and content.keys() == names:
            rows.append(SurveyRow(**content))
    return rows


def _on_cores(settings: Mapping[str, Thresholds], processes: int, trainer: str | None) -> Iterator[SurveyRow]:
    """The rows of the runs at these paths, each diagnosed with its thresholds, by a pool of processes.

    One that is killed (memory) breaks the pool, which is made anew. Its runs come last, one at a time: only one of them is lost.
    """
    waiting, suspects, context = deque(settings), set[str](), multiprocessing.get_context("forkserver")
    while waiting:
        running: dict[Future[SurveyRow], str] = {}
        before = set(multiprocessing.active_children())
        with ProcessPoolExecutor(processes, context, initializer=end_with_parent) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < (1 if waiting[0] in suspects else AHEAD * processes):
                        path = waiting[0]
                        with _uninterrupted():
                            running[pool.submit(examine, path, trainer, settings[path])] = path
                        waiting.popleft()  # only now: a pool that breaks meanwhile takes no further run
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        yield future.result()
                        del running[future]
            except (BrokenProcessPool, ConnectionError) as broken:  # no connection: the fork server is gone
                _end(before)  # a process that was started while the pool broke gets no signal to stop, and would block
                if len(running) == 1 and isinstance(broken, BrokenProcessPool):
                    (path,) = running.values()
                    yield SurveyRow(path=path, action=UNREADABLE, summary="its process was killed")
                else:
                    waiting.extend(running.values())
                    suspects.update(running.values())
            except BaseException:  # Ctrl-C: the pool would wait for the runs that it has
                _end(before)
                raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until a pool knows what it has started, and reaches nothing that starts: that would say where it was."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # lets signals through where it starts
    asked: list[int] = []  # a thread may get the signal whatever this one blocks
    if of_main := threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        if of_main:
            signal.signal(signal.SIGINT, before)
        if asked:
            signal.raise_signal(signal.SIGINT)


def _end(before: set[BaseProcess]) -> None:
    for child in set(multiprocessing.active_children()) - before:
        child.kill()


def _on_ray(settings: Mapping[str, Thresholds], address: str, trainer: str | None) -> Iterator[SurveyRow]:
    import ray

    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    task = ray.remote(num_cpus=1, max_retries=3)(lambda chunk: [examine(path, trainer, given) for path, given in chunk])
    runs = list(settings.items())
    pending = [task.remote(runs[i : i + CHUNK]) for i in range(0, len(runs), CHUNK)]
    while pending:
        (ready,), pending = ray.wait(pending, num_returns=1)
        yield from ray.get(ready)
