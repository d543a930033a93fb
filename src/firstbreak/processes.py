"""Processes that end with the one that started them, and servers that read in a process of their own with a limit of memory."""

import contextlib
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

GIB = 4.0  #: of memory that a server may take beyond what it starts with: some runs, each below its budget
RESTARTS = 5  #: of a server that was killed, before it is given up
LONGEST_END = 3.0  #: seconds after Ctrl-C for what a child still does
ASKED_AGAIN = 0.1  #: seconds after which a child is asked again whether it has ended
_PASSED_ON = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def end_with_parent() -> None:
    """In a worker of a pool: ends it with the process that made the pool, or (Linux) the fork server that made the worker."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    _end_after(parent.join)
    server = os.getppid()
    if server != parent.pid and hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            _end_after(partial(select.select, [os.pidfd_open(server)], [], []))


def in_child(restarts: int = RESTARTS, *, apart: bool = False) -> None:
    """Returns in a child process, in which memory is limited (where the system can fork and limit).

    The process that calls waits for it, passes signals on, and ends with its exit code. A child that was killed is made anew.
    `apart`: the child reads nothing from the terminal, whose Ctrl-C reaches the caller alone.
    """
    if not hasattr(os, "fork"):
        return
    code = 0
    for _ in range(restarts + 1):
        asked: list[int] = []
        # nohup has a process ignore that its terminal is gone
        heard = [number for number in _PASSED_ON if signal.getsignal(number) != signal.SIG_IGN]
        # before the fork: Python's hooks of it swallow a Ctrl-C that raises
        before = [signal.signal(number, lambda number, _, asked=asked: asked.append(number)) for number in heard]  # type: ignore[misc]
        ours, theirs = os.pipe()
        # a new process forgets what reaches it before Python is ready in it: what is held back waits until its handlers are set
        held = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
        child = os.fork()
        if child:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            os.close(ours)
            code = _outcome(child, asked)
        os.close(theirs)
        for number, handler in zip(heard, before, strict=True):
            signal.signal(number, handler)
        if not child:
            if apart:
                os.setpgid(0, 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            _end_after(partial(os.read, ours, 1))
            _limit_memory()
            return
        if code == -signal.SIGINT:
            print("\nfirstbreak: stopped", file=sys.stderr, flush=True)
        if code not in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV):
            break
        print("firstbreak: the process that reads was killed, probably for want of memory", file=sys.stderr, flush=True)
    sys.exit(128 - code if code < 0 else code)


def _outcome(child: int, asked: Sequence[int]) -> int:
    """The exit code of a child, or its signal as a negative number: SIGINT after Ctrl-C. It gets what is `asked`."""
    passed, waited = 0, 0.0
    # a signal that comes just before a wait without end would only be passed on after it
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        for number in asked[passed:]:
            passed += 1
            with contextlib.suppress(ProcessLookupError):
                # in a terminal, Ctrl-C has reached the child as well, and a second one would cut its answers off
                os.kill(child, signal.SIGTERM if number == signal.SIGINT else number)
        time.sleep(ASKED_AGAIN)
        waited += (signal.SIGINT in asked) * ASKED_AGAIN
        if waited > LONGEST_END:
            os.kill(child, signal.SIGKILL)
    return -signal.SIGINT if signal.SIGINT in asked else os.waitstatus_to_exitcode(ended[1])


def _end_after(wait: Callable[[], object]) -> None:
    def end() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=end, name="firstbreak-parent", daemon=True).start()


def _limit_memory() -> None:
    """Beyond it, what asks for memory gets a MemoryError, which costs one line about one run."""
    import resource

    wanted, (_, most) = _data() + int(GIB * (1 << 30)), resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def _data() -> int:
    """Bytes of memory that this process has already."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
