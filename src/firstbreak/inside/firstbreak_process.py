"""What any Python trainer shows of itself, whatever its code is: its processor, its memory, its optimizers.

Standard library only, and torch's own hooks where the trainer has imported torch.
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

from firstbreak_inside import Wanted, note, unharmed

EVERY = 0.1  #: seconds between two looks at the process, at first
SELDOMER = 0.01  #: of the time since then: a long run is looked at some hundred times as well


def watch_machine() -> None:
    """From now on, note how long the main thread waits for a processor that others hold, and the resident memory (Linux)."""
    threading.Thread(target=_look, daemon=True).start()


def _look() -> None:
    with suppress(OSError, ValueError):  # another system than Linux: nothing is measured
        for queued, resident in _looks():
            note("watch.jsonl", queued=queued, resident=resident)


def _looks() -> Iterator[tuple[float, int]]:
    """Share of the time for which the main thread could run and did not, and bytes in memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    before, start = _waited(), time.monotonic()
    began = start
    while True:
        time.sleep(max(EVERY, SELDOMER * (start - began)))
        after, now = _waited(), time.monotonic()
        with open("/proc/self/statm") as pages:
            yield (after - before) / (now - start), int(pages.read().split()[1]) * page
        before, start = after, now


def _waited() -> float:
    """Seconds that the main thread has spent in the scheduler's queue."""
    with open("/proc/self/schedstat") as times:
        return int(times.read().split()[1]) / 1e9


def optimizers(module: ModuleType, asked: Wanted) -> None:
    """torch.optim.optimizer: note each optimizer's rate whenever it is larger than it was since the last optimizer joined.

    An optimizer that makes no step any more once another has begun, a warm-up's, is therefore told from one that goes on.
    """
    if "process" not in asked.get("watch", ""):
        return
    highest: dict[int, float] = {}  # by the optimizers' order of appearance
    numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    new = itertools.count()

    def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        with unharmed():
            if optimizer not in numbers:
                numbers[optimizer] = next(new)
                highest.clear()
            number = numbers[optimizer]
            rate = max(float(group["lr"]) for group in optimizer.param_groups)
            if number not in highest or rate > highest[number]:
                highest[number] = rate
                note("watch.jsonl", optimizer=number, rate=rate)

    module.register_optimizer_step_pre_hook(before_step)


class Settings:
    """Notes the settings that are in force, under their canonical names, whenever one has changed."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def __call__(self, **held: Any) -> None:
        """What a trainer holds now: numbers, and None for a bound that is not there."""
        if held != self._last:
            self._last = held
            note("settings.jsonl", **held)
