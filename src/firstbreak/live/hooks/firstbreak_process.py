"""Measurements of any Python trainer: processor, memory, optimizers.

Standard library only, and torch's own hooks if the trainer has imported torch.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from firstbreak_hooks import Wanted, ignore_errors, note

EVERY = 0.1  #: seconds between two measurements of the process, at first
LATER = 0.01  #: later, the same as a share of the time so far, so that a long run is measured a few hundred times


def watch_machine() -> None:
    """Start to log how long the main thread waits for a processor, and the resident memory (Linux)."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    with suppress(OSError, ValueError):  # not on Linux: nothing is measured
        for queued, resident in _measured():
            note("watch.jsonl", queued=queued, resident=resident)


def _measured() -> Iterator[tuple[float, int]]:
    """Share of the time in which the main thread waited for a processor, and bytes in memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    before, start = _waited(), time.monotonic()
    began = start
    while True:
        time.sleep(max(EVERY, LATER * (start - began)))
        after, now = _waited(), time.monotonic()
        with open("/proc/self/statm") as pages:
            yield (after - before) / (now - start), int(pages.read().split()[1]) * page
        before, start = after, now


def _waited() -> float:
    """Seconds that the main thread has waited in the scheduler's queue."""
    with open("/proc/self/schedstat") as times:
        return int(times.read().split()[1]) / 1e9


def optimizers(module: ModuleType, asked: Wanted) -> None:
    """torch.optim.optimizer: log each optimizer's largest learning rate since the newest optimizer made its first step.

    For this reason, an optimizer that has stopped (of a warm-up) can be distinguished from one that still makes steps.
    """
    if "process" not in asked.get("watch", ""):
        return
    highest: dict[int, float] = {}  # by the order of the optimizers' first steps
    numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    new = itertools.count()

    def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        with ignore_errors():
            if optimizer not in numbers:
                numbers[optimizer] = next(new)
                highest.clear()
            number = numbers[optimizer]
            rate = max(float(group["lr"]) for group in optimizer.param_groups)
            if number not in highest or rate > highest[number]:
                highest[number] = rate
                note("watch.jsonl", optimizer=number, rate=rate)

    module.register_optimizer_step_pre_hook(before_step)


class SettingsInForce:
    """Logs the settings that are in force, under their canonical names, when one of them changes."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def __call__(self, **held: Any) -> None:
        """Log the current values of a trainer: numbers, and None for a limit that is not set."""
        if held != self._last:
            self._last = held
            note("settings.jsonl", **held)
