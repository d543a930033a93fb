"""One test for a contract that many things keep: all are looked at, and all that break it are named at once."""

import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def every(items: Iterable[T], check: Callable[[T], object], name: Callable[[T], object] = str) -> None:
    """Run the check on every item. Fails with a line for each item that it does not hold for, or where there is none."""
    looked_at, broken = 0, []
    for item in items:
        looked_at += 1
        try:
            check(item)
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            broken.append(f"{name(item)}: {said} (line {_line(error, check)})")
    assert looked_at, "there is nothing to look at"
    assert not broken, f"{len(broken)} of {looked_at} break the contract:\n" + "\n".join(broken)


def _line(error: Exception, check: Callable[..., object]) -> int | None:
    """Where in the file of the check it failed."""
    file = check.__code__.co_filename
    return next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == file), None)
