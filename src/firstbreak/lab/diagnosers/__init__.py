"""Who is scored in the benchmark. One file per diagnoser; there is no list to edit.

A diagnoser is a module `diagnosers/<name>.py` with

    docstring                       what it is, and how its answers are read
    GIVES: frozenset[str]           what it can say at all: of "stop", "link", "cause", "onset", "interval", "belief"
    def answer(run: Run) -> Answer
    REQUIRES: str                   optional: the package that it imports

or any command that takes the path of a run and prints a diagnosis (`firstbreak.diagnosis/1`): see `command`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from firstbreak.model import Interval, Run

EVERYTHING = frozenset({"stop", "link", "cause", "onset", "interval", "belief"})
HEALTHY = "healthy"
NO_CAUSE = frozenset({HEALTHY, "none-of-these"})  #: candidates of a ranking that are not causes
PATIENCE = 60.0  #: seconds that a command may take over a run


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a diagnoser says of one run."""

    found: bool  #: something is broken
    critical: bool  #: and something about it is critical
    stop: bool = False  #: the run should be stopped
    link: str | None = None  #: the first broken one
    causes: tuple[str, ...] = ()  #: the most probable first
    onset: float | None = None  #: in steps of the run's log
    interval: Interval | None = None
    belief: tuple[str, float] | None = None  #: the likeliest candidate, HEALTHY among them, and its probability


@dataclass(frozen=True)
class Diagnoser:
    """One who is scored."""

    name: str
    gives: frozenset[str]
    answer: Callable[[Run], Answer]
    requires: str | None = None  #: a package


def diagnosers() -> Mapping[str, Diagnoser]:
    """Every diagnoser of this folder, by name."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    names = [module.__name__.rpartition(".")[2] for module in modules]
    return {
        name: Diagnoser(name, m.GIVES, m.answer, getattr(m, "REQUIRES", None))
        for name, m in zip(names, modules, strict=True)
    }


def available() -> list[Diagnoser]:
    """Those whose package is installed."""
    return [d for d in diagnosers().values() if d.requires is None or find_spec(d.requires)]


def chosen(names: Sequence[str]) -> list[Diagnoser]:
    """The diagnosers of these names; whatever is no name is taken for a command."""
    return [diagnosers().get(name) or command(name) for name in names]


def command(line: str) -> Diagnoser:
    """A program that is called with the path of a run and prints one diagnosis as JSON on stdout."""
    return Diagnoser(line, EVERYTHING, partial(_called, line))


def _called(line: str, run: Run) -> Answer:
    done = subprocess.run([*shlex.split(line), run.path], capture_output=True, text=True, timeout=PATIENCE)
    if not done.stdout.strip():
        raise RuntimeError(f"{line}: exit code {done.returncode} and no diagnosis; {done.stderr.strip()[:200]}")
    return read_diagnosis(json.loads(done.stdout))


def read_diagnosis(payload: Mapping[str, Any]) -> Answer:
    """The answer in a diagnosis that was written as JSON."""
    first = payload["first_break"]
    ranked = sorted(payload["causes"], key=lambda cause: -cause["probability"])
    return Answer(
        found=first is not None,
        critical=any(finding["severity"] == "critical" for finding in payload["findings"]),
        stop=payload["verdict"]["action"] in ("stop", "rollback"),
        link=first and first["link"],
        causes=tuple(cause["id"] for cause in ranked if cause["id"] not in NO_CAUSE),
        onset=first and first["step"],
        interval=tuple(first["interval"]) if first and first["interval"] else None,
        belief=(ranked[0]["id"], ranked[0]["probability"]) if ranked else None,
    )
