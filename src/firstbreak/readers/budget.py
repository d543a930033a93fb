"""How much memory the numbers of a file, and of a run, may take, and how much time. It is counted while they are decoded,
because a file of a few kilobytes may hold gigabytes: a parquet column of one number, or an archive of zeros.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from firstbreak.readers import Recording, Unreadable

MEMORY = "FIRSTBREAK_MEMORY"  #: GiB that the numbers of a run may take; those of one file, half of it
GIB = 1.0  #: without it
MOST = 1 << 20  #: GiB
SECONDS = 60.0  #: of the processor, for one file
POINT = 16  #: bytes: a step and a value in float64
NAME = 2048  #: bytes: what a metric costs beside its points
_OBJECT = 64  #: bytes: what Python keeps for a value or an object of JSON, at least
_left: ContextVar[list[float] | None] = ContextVar("left", default=None)


class TooLarge(MemoryError):
    """A file decodes to more than the budget."""

    def __init__(self, said: str = "") -> None:
        gib = _gib()
        super().__init__(said or f"decodes to more than {gib / 2:g} GiB, or its run to more than {gib:g} GiB")


@contextmanager
def of_file(held: int) -> Iterator[None]:
    """What is decoded inside of it belongs to one file of a run whose other files hold `held` bytes."""
    whole = int(_gib() * (1 << 30))
    token = _left.set([min(whole // 2, whole - held), time.process_time() + SECONDS])
    try:
        yield
    finally:
        _left.reset(token)


def spend(size: int) -> None:
    """Called before `size` bytes are kept. Raises TooLarge where the file may not have them."""
    left = _left.get()
    if left is not None:
        left[0] -= size
        if left[0] < 0:
            raise TooLarge
        if time.process_time() > left[1]:
            raise TooLarge(f"takes more than {SECONDS:g} s to read")


def check_json(data: bytes | str) -> None:
    """Called before JSON is decoded: many small values take far more memory than their text. Raises TooLarge."""
    left = _left.get()
    if left is None or len(data) * _OBJECT <= left[0]:
        return
    values = sum(map(data.count, (b",", b"[", b"{"))) if isinstance(data, bytes) else sum(map(data.count, ",[{"))
    if values * _OBJECT > left[0]:
        raise TooLarge


def size_of(recording: Recording) -> int:
    """Bytes that a recording holds."""
    return sum(NAME + POINT * len(curve.values) for curve in recording.curves.values())


def _gib() -> float:
    written = os.environ.get(MEMORY) or GIB
    try:
        if 0 < (gib := float(written)) < MOST:
            return gib
    except ValueError:
        pass
    raise Unreadable(
        f"{MEMORY}={written}", "is no number of GiB", f"set it to a number above 0, or leave it out ({GIB:g})"
    )
