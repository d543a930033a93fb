"""No process outlives the one that started it, and a server that reads may not fill the memory of the machine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from firstbreak.processes import RESTARTS
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SERVER = """
import os, signal, sys, time
from firstbreak.processes import in_child
print(os.getpid(), flush=True)
in_child()
print(os.getpid(), flush=True)
"""
POOL = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from firstbreak.processes import end_with_parent
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    print(os.getpid(), flush=True)
    with ProcessPoolExecutor(2, context, initializer=end_with_parent) as pool:
        for _ in range(2):
            pool.submit(os.write, 1, b"worker\\n")
            pool.submit(time.sleep, 600)
"""


@contextmanager
def started(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", script, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c_in_a_hook_of_the_fork_is_not_lost(tmp_path: Path) -> None:
    hook = "os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))"
    script = written(tmp_path, SERVER.replace("in_child()", f"{hook}\nin_child()", 1) + "time.sleep(600)\n")
    with started(script) as process:
        assert process.wait(PATIENCE) == 130


def test_what_reaches_a_new_process_before_python_is_ready_in_it_is_held_back(tmp_path: Path) -> None:
    held = "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), flush=True)"
    hook = f"os.register_at_fork(after_in_child=lambda: {held})"
    script = written(tmp_path, SERVER.replace("in_child()", f"{hook}\nin_child()", 1) + held)
    with started(script) as process:
        # two processes write: the numbers of each may come first
        while_made, after = (line for line in rest_of(process).splitlines() if line.startswith("["))
    heard = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # nohup has the last one ignored
    assert all(one.name in while_made for one in heard if signal.getsignal(one) != signal.SIG_IGN)
    assert after == "[]"


def rest_of(process: subprocess.Popen[str]) -> str:
    """What is written until the last process that holds the output is gone."""
    return process.communicate(timeout=PATIENCE)[0]


def written(folder: Path, text: str) -> str:
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("kind", ["fork", "forkserver"])
def test_a_pool_ends_with_the_process_that_made_it(kind: str, ending: signal.Signals, tmp_path: Path) -> None:
    with started(written(tmp_path, POOL), kind) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert process.stdout.readline() == "worker\n"
        os.kill(pid, ending)
        rest_of(process)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_ends_with_the_process_that_was_started(ending: signal.Signals, tmp_path: Path) -> None:
    with started(written(tmp_path, SERVER + "time.sleep(600)")) as process:
        assert process.stdout is not None
        parent, child = int(process.stdout.readline()), int(process.stdout.readline())
        assert parent != child
        os.kill(parent, ending)
        assert rest_of(process) == ""


def test_a_server_that_is_killed_is_started_again_and_not_for_ever(tmp_path: Path) -> None:
    with started(written(tmp_path, SERVER + "os.kill(os.getpid(), signal.SIGKILL)")) as process:
        assert len(rest_of(process).split()) == 1 + 1 + RESTARTS
        assert process.returncode == 128 + signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="no other system counts it")
def test_a_server_may_not_fill_the_memory(tmp_path: Path) -> None:
    much = "import numpy as np\ntry:\n    np.empty(5 << 30, np.int8)\nexcept MemoryError:\n    print('refused')\n"
    with started(written(tmp_path, SERVER + much + "sys.exit(7)")) as process:
        assert rest_of(process).splitlines()[-1] == "refused"
        assert process.returncode == 7
