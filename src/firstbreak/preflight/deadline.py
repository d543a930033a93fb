"""A limit on how long the user's code may take."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Overdue(Exception):
    """The code did not come back in time."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `Overdue` inside the block after `seconds`.

    It interrupts Python code in the main thread of a POSIX process; elsewhere there is no safe way to interrupt a call,
    and the block runs as long as it runs.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def overdue(*_: object) -> None:
        raise Overdue(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
