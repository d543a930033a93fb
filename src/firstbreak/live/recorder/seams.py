"""Functions of a trainer that are looked at, in whatever process of the trainer they run.

`firstbreak record -o FOLDER -- COMMAND` starts a trainer whose script is not the user's own. A trainer is one file of trainers/,
with the name of its package and a list `SEAMS`. A seam is a function or a method, and a generator that looks at its calls:

    def look(record: BatchRecorder, given: Mapping[str, Any]) -> Iterator[None]:
        ...                 # before the call; `given` are its arguments by name
        result = yield      # the call
        record.batch(...)   # after it

Nothing of the call is changed, and an error in here never reaches training. Of several processes that train side by side, the
first one looks.
"""

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from firstbreak.live.hooks.firstbreak_imports import when_imported
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.journal import NAME
from firstbreak.live.recorder.start import FOLDER
from firstbreak.values import dataclass

Looking = Generator[None, Any, None]
Look = Callable[[BatchRecorder, Mapping[str, Any]], Looking]


@dataclass(frozen=True)
class Seam:
    """A function of a trainer and what looks at it. Seams with the same `files` share a recorder, and run in one process."""

    module: str
    name: str  #: `function` or `Class.method`
    look: Look
    files: str = NAME


def install(trainer: str, folder: str | None = None) -> None:
    """Look at the functions of a trainer, now or as soon as their modules are imported."""
    seams: Sequence[Seam] = importlib.import_module(f"firstbreak.live.recorder.trainers.{trainer}").SEAMS
    folder = folder or os.environ.get(FOLDER, ".")
    recorders = {files: BatchRecorder(folder, name=files) for files in {seam.files for seam in seams}}
    later: dict[str, list[Seam]] = {}
    for seam in seams:
        if (module := sys.modules.get(seam.module)) is not None:
            open_seam(module, seam, recorders[seam.files])
        else:
            later.setdefault(seam.module, []).append(seam)

    def arrived(module: ModuleType) -> None:
        for seam in later[module.__name__]:
            open_seam(module, seam, recorders[seam.files])

    when_imported(later, after=arrived)


def open_seam(module: ModuleType, seam: Seam, record: BatchRecorder) -> None:
    """Look at one function of a module that is imported. One that the trainer's version lacks is left out."""
    *owners, last = seam.name.split(".")
    owner: Any = module
    for name in owners:
        owner = getattr(owner, name, None)
    original = getattr(owner, last, None)
    if original is None:
        return
    signature = inspect.signature(original)

    @functools.wraps(original)
    def looked_at(*given: Any, **named: Any) -> Any:
        looking = None
        with record.guarded(seam.name):
            if not _of_another_rank():
                bound = signature.bind(*given, **named)
                bound.apply_defaults()
                looking = seam.look(record, bound.arguments)
                looking = looking if next(looking, False) is None else None
        result = original(*given, **named)
        if looking is not None:
            with record.guarded(seam.name), suppress(StopIteration):
                looking.send(result)
        return result

    setattr(owner, last, looked_at)


def caller(attribute: str) -> Any:
    """The nearest object that called, of those with this attribute. Raises LookupError."""
    frame = sys._getframe(1)
    while frame is not None:
        held = frame.f_locals.get("self")
        if held is not None and hasattr(held, attribute):
            return held
        frame = frame.f_back  # type: ignore[assignment]
    raise LookupError(f"no caller has {attribute}")


def _of_another_rank() -> bool:
    """Whether this process trains beside the first one."""
    torch = sys.modules.get("torch")
    spread = torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()
    return bool(torch.distributed.get_rank() != 0) if torch is not None and spread else False
