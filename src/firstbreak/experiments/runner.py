"""Runs one trial: a command in its own folder, with limits. A stored result is used again."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path

from firstbreak.experiments import supervisor
from firstbreak.values import dataclass, field

POLL = 0.1  #: seconds between two checks of a trial
SWEEPS = 50  #: attempts to end processes that are still running
#: states with a final result: the trial is not run again
FINAL = frozenset({"finished", "stopped", "over_time"})


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One command to run. All of its files are in `folder`."""

    name: str  #: arm and seed
    folder: Path
    arguments: tuple[str, ...]
    directory: str
    environment: Mapping[str, str] = field(default_factory=dict)  #: in addition to the environment of this process
    files: Mapping[str, str] = field(default_factory=dict)  #: name in the folder -> content, written before it starts
    seconds: float | None = None  #: limit
    bytes: float | None = None  #: limit of the folder's size

    @property
    def mark(self) -> str:
        """The identity of the trial in a later session: its folder and its command."""
        given = sorted({**self.environment, **self.files}.items())
        described = json.dumps([str(self.folder.resolve()), self.directory, self.arguments, given])
        return hashlib.sha256(described.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a trial ended."""

    trial: str
    state: str  #: finished, failed, stopped (all questions answered), over_time, over_disk, interrupted
    exit_code: int | None
    seconds: float
    detail: str = ""

    @property
    def final(self) -> bool:
        """Whether the result is final, so that the trial is not run again."""
        return self.state in FINAL


def stored(trial: Trial) -> Result | None:
    """The stored result of this trial, if it has ended before."""
    try:
        described = json.loads((trial.folder / "trial.json").read_text())
        result = json.loads((trial.folder / "result.json").read_text())
    except (OSError, ValueError):
        return None
    return Result(trial=trial.name, **result) if described.get("mark") == trial.mark else None


def run(trial: Trial, stop: Callable[[], bool] = lambda: False, cancelled: threading.Event | None = None) -> Result:
    """Run the trial and wait for its end. If the trial has ended before, returns the stored result.

    `stop` is called repeatedly. If `stop` returns True, the trial ends with a final result. `cancelled` ends the trial
    without a result, like the death of this process.
    """
    if (done := stored(trial)) is not None and done.final:
        return done
    _sweep(trial)  # processes of an earlier attempt
    if trial.folder.exists():
        shutil.rmtree(trial.folder)
    trial.folder.mkdir(parents=True)
    for name, content in trial.files.items():
        (trial.folder / name).write_text(content, "utf-8")
    described = asdict(trial) | {"folder": str(trial.folder), "mark": trial.mark}
    supervisor.write(trial.folder / "trial.json", described)
    with (trial.folder / "supervisor.txt").open("wb") as complaints:
        keeper = subprocess.Popen(
            [sys.executable, "-S", supervisor.__file__, str(trial.folder.resolve())],
            stdin=subprocess.PIPE,
            stdout=complaints,
            stderr=complaints,
            env={**os.environ, supervisor.MARK: trial.mark},  # it may outlive this process, and writes until it is gone
            start_new_session=True,  # Ctrl-C in a terminal reaches the runner only, which then closes the pipe
        )
    assert keeper.stdin is not None
    try:
        while keeper.poll() is None and not (cancelled and cancelled.is_set()):
            if stop():
                with contextlib.suppress(BrokenPipeError):
                    os.write(keeper.stdin.fileno(), b"stop")
                keeper.wait()
            time.sleep(POLL)
    finally:
        keeper.stdin.close()
        keeper.wait()
        _sweep(trial)
    if (ended := stored(trial)) is not None:
        return ended
    said = (trial.folder / "supervisor.txt").read_text("utf-8", "replace").strip().rpartition("\n")[2]
    return Result(
        trial=trial.name, state="interrupted", exit_code=None, seconds=0.0, detail=said or "its supervisor was killed"
    )


def _sweep(trial: Trial) -> None:
    """End processes of an attempt that still run, which happens only if its supervisor was killed.

    Repeated until no process is left: a process may start another one during the search.
    """
    for _ in range(SWEEPS):
        left = list(supervisor.marked(trial.mark))
        if not left:
            return
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, 9)
        time.sleep(POLL)


def run_all(
    trials: list[Trial],
    *,
    processes: int,
    retries: int = 0,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Run all trials on this machine, `processes` at the same time. A failed trial is started again up to `retries` times."""
    cancelled = threading.Event()

    def tried(trial: Trial) -> Result:
        for _ in range(retries + 1):
            result = run(trial, stop, cancelled)
            if result.final or cancelled.is_set():
                break
        return result

    done: dict[str, Result] = {}
    with ThreadPoolExecutor(max(1, processes)) as pool:
        waiting = {pool.submit(tried, trial): trial.name for trial in trials}
        try:
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    done[waiting.pop(future)] = future.result()
                    report(future.result())
        except BaseException:  # Ctrl-C: the pool waits for its threads, and the threads wait for their trials
            cancelled.set()
            raise
    return [done[trial.name] for trial in trials]
