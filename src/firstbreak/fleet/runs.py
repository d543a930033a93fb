"""Find every run below some folders, diagnose each in a process of its own pool (or on Ray), and keep one line of each."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from firstbreak import __version__
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.read import PARTS_OF_A_RUN, ROOT_OF_A_RUN, claimed, find_runs, read
from firstbreak.engine.registry import readers
from firstbreak.model import Action, Diagnosis
from firstbreak.readers import Unreadable

AHEAD = 4  #: runs handed to the pool per process before their results are taken
CHUNK = 25  #: runs of one task on Ray
SKIPPED = frozenset({"__pycache__", ".git", ".venv", "node_modules"})
UNREADABLE = "unreadable"
#: what needs attention first
ORDER = (Action.ROLLBACK.value, Action.STOP.value, Action.WATCH.value, UNREADABLE, Action.CONTINUE.value)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is kept of one run."""

    path: str
    fingerprint: str  #: of the run's files: names, sizes, times; a run that has grown is looked at again
    action: str  #: continue, watch, stop, rollback, or "unreadable"
    summary: str
    link: str | None = None
    cause: str | None = None
    probability: float | None = None  #: of the cause
    broken: float = 0.0  #: probability that anything is wrong
    onset: float | None = None
    last_step: float | None = None
    wasted: float | None = None  #: share of the run since the break
    trainer: str | None = None
    do_first: str = ""

    @property
    def urgency(self) -> tuple[int, float, float, str]:
        """Sorts what needs attention first: by verdict, by how sure it is, by how much has been spent since."""
        return (ORDER.index(self.action), -round(self.broken, 2), -(self.wasted or 0.0), self.path)


# --- which runs --------------------------------------------------------------------------------------------------------


def find(place: Path) -> Iterator[Path]:
    """Every run below a path, folder by folder, so that the time grows with the number of files and no faster.

    Within what may be one run, `find_runs` decides. A folder of which no part looks like a part of a run, and which is
    none by its own files, only holds runs.
    """
    if not place.is_dir() or any(reader.claims(place) for reader in readers().values() if hasattr(reader, "claims")):
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


def fingerprint(run: Path) -> str:
    """Names, sizes and times of a run's files, and the version that looks at them, as one hash."""
    digest = hashlib.sha256(__version__.encode())
    files = (
        [run] if run.is_file() else sorted(Path(parent) / name for parent, _, names in os.walk(run) for name in names)
    )
    for path in files:
        try:
            state = path.stat()
        except OSError:  # a link that leads nowhere: no reader sees it either
            continue
        digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


# --- one run -----------------------------------------------------------------------------------------------------------


def examine(path: str, trainer: str | None = None) -> Row:
    """Diagnose one run. What cannot be read, or breaks a reader, is a row as well."""
    seen = ""
    try:
        seen = fingerprint(Path(path))
        return _row(path, seen, diagnose(read(path, trainer=trainer)))
    except Unreadable as error:
        return Row(path=path, fingerprint=seen, action=UNREADABLE, summary=str(error).removeprefix(f"{path}: "))
    except Exception as error:  # one run that breaks must not end the others
        return Row(path=path, fingerprint=seen, action=UNREADABLE, summary=f"{type(error).__name__}: {error}")


def _row(path: str, seen: str, dx: Diagnosis) -> Row:
    top = next((cause for cause in dx.causes if cause.link is not None), None)
    named = top if dx.first_break is not None else None
    healthy = next((cause.probability for cause in dx.causes if cause.id == HEALTHY), 0.0)
    return Row(
        path=path,
        fingerprint=seen,
        action=dx.verdict.action.value,
        summary=dx.verdict.summary,
        link=dx.first_break.link.value if dx.first_break else None,
        cause=named.id if named else None,
        probability=round(named.probability, 4) if named else None,
        broken=round(1 - healthy, 4),
        onset=dx.first_break.step if dx.first_break else None,
        last_step=dx.run.last_step,
        wasted=dx.cost.fraction if dx.cost else None,
        trainer=dx.run.trainer,
        do_first=dx.verdict.do_first,
    )


# --- all of them -------------------------------------------------------------------------------------------------------


def survey(
    places: Iterable[str | os.PathLike[str]],
    *,
    store: Path,
    processes: int = 1,
    ray_address: str | None = None,
    trainer: str | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[Row]:
    """One row for every run below the places, what needs attention first.

    Each row is appended to `store` as soon as it is there. A run that has not changed since is not looked at again, so a
    survey that was interrupted goes on where it stopped. It starts processes: in a script, call it below
    `if __name__ == "__main__":`.
    """
    paths = list(dict.fromkeys(str(run) for place in places for run in find(Path(place))))
    known = {row.path: row for row in load(store)}
    rows = [known[path] for path in paths if path in known and known[path].fingerprint == fingerprint(Path(path))]
    waiting = [path for path in paths if path not in {row.path for row in rows}]
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
    """Where the rows of a survey of these places are kept unless the user says otherwise: beside no run, in the cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    whole = "\0".join(sorted(str(Path(place).resolve()) for place in places))
    return home / "firstbreak" / f"fleet-{hashlib.sha256(whole.encode()).hexdigest()[:12]}.jsonl"


def load(store: Path) -> list[Row]:
    """The rows of a store; a line that was cut by a crash, or is of another version, is left out."""
    names = {f.name for f in fields(Row)}
    rows = []
    for line in store.read_text("utf-8").splitlines() if store.exists() else ():
        try:
            content = json.loads(line)
        except ValueError:
            continue
        if isinstance(content, dict) and content.keys() == names:
            rows.append(Row(**content))
    return rows


def _on_cores(paths: Sequence[str], processes: int, trainer: str | None) -> Iterator[Row]:
    """A pool of processes. One that is killed (memory) breaks the pool, which is then made anew.

    Whatever was in it comes last, one run at a time, so that only the run that kills its process is given up.
    """
    waiting, suspects = deque(paths), set[str]()
    while waiting:
        running: dict[Future[Row], str] = {}
        before = set(multiprocessing.active_children())
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("forkserver")) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < (1 if waiting[0] in suspects else AHEAD * processes):
                        running[pool.submit(examine, waiting[0], trainer)] = waiting[0]
                        waiting.popleft()  # only now: a pool that breaks meanwhile takes no further run
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        yield future.result()
                        del running[future]
            except BrokenProcessPool:
                for child in set(multiprocessing.active_children()) - before:
                    child.kill()  # one that was started while the pool broke is not told to end, and would be waited for
                if len(running) == 1:
                    (path,) = running.values()
                    yield Row(path=path, fingerprint="", action=UNREADABLE, summary="its process was killed")
                else:
                    waiting.extend(running.values())
                    suspects.update(running.values())


def _on_ray(paths: Sequence[str], address: str, trainer: str | None) -> Iterator[Row]:
    import ray

    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    task = ray.remote(num_cpus=1, max_retries=3)(lambda chunk: [examine(path, trainer) for path in chunk])
    pending = [task.remote(paths[i : i + CHUNK]) for i in range(0, len(paths), CHUNK)]
    while pending:
        (ready,), pending = ray.wait(pending, num_returns=1)
        yield from ray.get(ready)
