"""Supervises one trial: starts the trainer, checks its limits, records how the trial ended, and ends all of its processes.

runner.py starts this file as its own process, with the standard library only. No process is left, whichever dies first:

    the runner dies      the pipe to standard input closes, and the supervisor ends the trial
    the supervisor dies  the kernel kills the trainer (Linux), and the runner kills all other processes of the trial
    the trainer dies     the supervisor ends all other processes of the trial

Processes that leave the process group (a daemon, a worker with its own session) are found by a mark in their environment, if
the system has /proc.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

MARK = "FIRSTBREAK_TRIAL"
GRACE = 5.0  #: seconds between SIGTERM and SIGKILL
POLL = 0.1  #: seconds between two checks of the trainer
DISK_POLL = 2.0  #: seconds between two checks of the disk
PR_SET_PDEATHSIG = 1


def main(folder: Path) -> None:
    """Run the trial in `trial.json` of the folder. `result.json` says how the trial ended."""
    trial = json.loads((folder / "trial.json").read_text())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    start = time.monotonic()
    with (folder / "output.txt").open("ab") as output:
        try:
            child = subprocess.Popen(
                trial["arguments"],
                cwd=trial["directory"],
                env={**os.environ, **trial["environment"], MARK: trial["mark"]},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),
            )
        except OSError as error:
            write(folder / "result.json", _result("failed", None, start, f"{trial['arguments'][0]}: {error.strerror}"))
            return
    write(folder / "group.json", child.pid)
    state = "interrupted"
    try:
        state = _watch(child, folder, trial["seconds"], trial["bytes"])
    finally:
        end(child.pid, trial["mark"])
        code = child.wait()
        if state == "ended":
            state = "finished" if code == 0 else "failed"
        write(folder / "result.json", _result(state, code, start, ""))


def _result(state: str, code: int | None, start: float, detail: str) -> dict[str, Any]:
    return {"state": state, "exit_code": code, "seconds": round(time.monotonic() - start, 3), "detail": detail}


def die_with(parent: int) -> None:
    """In a child process, before its program starts: ask the kernel to kill it when its parent dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has already died
            os._exit(1)


def _watch(child: subprocess.Popen[bytes], folder: Path, seconds: float | None, size: float | None) -> str:
    """Wait for the end of the trial: by itself, stopped by the runner, over a limit, or because the runner has died."""
    start = measured = time.monotonic()
    while child.poll() is None:
        readable, _, _ = select.select([0], [], [], POLL)
        if readable:
            return "stopped" if os.read(0, 16) else "interrupted"
        now = time.monotonic()
        if seconds is not None and now - start > seconds:
            return "over_time"
        if size is not None and now - measured > DISK_POLL:
            measured = now
            if used(folder) > size:
                return "over_disk"
    return "ended"


def used(folder: Path) -> int:
    """Size in bytes of a folder on disk."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(parent) / name).lstat().st_blocks * 512
    return total


def end(group: int, mark: str) -> None:
    """End a process group, and every process with the mark: first SIGTERM, then SIGKILL."""
    _signal(group, mark, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while _alive(group, mark) and time.monotonic() < deadline:
        time.sleep(POLL / 2)
    while _alive(group, mark):
        _signal(group, mark, signal.SIGKILL)
        time.sleep(POLL / 2)


def marked(mark: str) -> list[int]:
    """The processes with the mark in their environment, except this one. Empty if the system has no /proc."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in entry.read_bytes().split(b"\0") and int(entry.parent.name) != os.getpid():
                found.append(int(entry.parent.name))
    return found


def _signal(group: int, mark: str, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, what)
    for process in marked(mark):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, what)


def _alive(group: int, mark: str) -> bool:
    """Whether any process of the trial still runs. A zombie does not count."""
    if Path("/proc/self").exists():
        return bool(marked(mark))  # a zombie has no environment
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def write(path: Path, content: Any) -> None:
    """Write JSON so that the file is complete or does not exist."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("w") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
