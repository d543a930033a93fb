"""The diagnosers that the benchmark scores. One file per diagnoser; there is no list to edit.

A diagnoser is a module `diagnosers/<name>.py` with

    docstring                       what it is, and how its output is read
    GIVES: frozenset[str]           which answers it can give: of "stop", "link", "cause", "onset", "interval", "belief"
    def answer(run: Run) -> Answer
    REQUIRES: str                   optional: the package that it imports

or any command that takes the path of a run and prints a diagnosis (schema `firstbreak.diagnosis/1`): see `command`.
"""

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from firstbreak import plugins
from firstbreak.model import Interval, Run

EVERYTHING = frozenset({"stop", "link", "cause", "onset", "interval", "belief"})
HEALTHY = "healthy"
NO_CAUSE = frozenset({HEALTHY, "none-of-these"})  #: candidates of a ranking that are not causes
PATIENCE = 60.0  #: seconds that a command may take for one run


@dataclass(frozen=True, kw_only=True)
class DiagnoserAnswer:
    """The answer of a diagnoser for one run."""

    found: bool  #: the run is broken
    critical: bool  #: at least one finding is critical
    stop: bool = False  #: the run should be stopped
    link: str | None = None  #: the link that broke first
    causes: tuple[str, ...] = ()  #: the most probable first
    onset: float | None = None  #: in steps of the run's log
    interval: Interval | None = None
    belief: tuple[str, float] | None = None  #: the most probable candidate (a cause or HEALTHY) and its probability


@dataclass(frozen=True)
class Diagnoser:
    """One diagnoser: its name, the kinds of answers that it gives, and the function that answers."""

    name: str
    gives: frozenset[str]
    answer: Callable[[Run], DiagnoserAnswer]
    requires: str | None = None  #: a package


def diagnosers() -> Mapping[str, Diagnoser]:
    """Every diagnoser of this folder, by name."""
    return {
        name: Diagnoser(name, m.GIVES, m.answer, getattr(m, "REQUIRES", None))
        for name, m in plugins.modules(__name__, "answer").items()
    }


def available() -> list[Diagnoser]:
    """The diagnosers whose package is installed."""
    return [d for d in diagnosers().values() if d.requires is None or find_spec(d.requires)]


def chosen(names: Sequence[str]) -> list[Diagnoser]:
    """The diagnosers with these names. Any other text is used as a command."""
    return [diagnosers().get(name) or command(name) for name in names]


def command(line: str) -> Diagnoser:
    """A diagnoser that calls a program with the path of a run. The program prints one diagnosis as JSON to stdout."""
    return Diagnoser(line, EVERYTHING, partial(_called, line))


def _called(line: str, run: Run) -> DiagnoserAnswer:
    done = subprocess.run([*shlex.split(line), run.path], capture_output=True, text=True, timeout=PATIENCE)
    if not done.stdout.strip():
        raise RuntimeError(f"{line}: printed no diagnosis, exit code {done.returncode}; {done.stderr.strip()[:200]}")
    return read_diagnosis(json.loads(done.stdout))


def read_diagnosis(payload: Mapping[str, Any]) -> DiagnoserAnswer:
    """The answer in a diagnosis in JSON form."""
    first = payload["first_break"]
    ranked = sorted(payload["causes"], key=lambda cause: -cause["probability"])
    return DiagnoserAnswer(
        found=first is not None,
        critical=any(finding["severity"] == "critical" for finding in payload["findings"]),
        stop=payload["verdict"]["action"] in ("stop", "rollback"),
        link=first and first["link"],
        causes=tuple(cause["id"] for cause in ranked if cause["id"] not in NO_CAUSE),
        onset=first and first["step"],
        interval=tuple(first["interval"]) if first and first["interval"] else None,
        belief=(ranked[0]["id"], ranked[0]["probability"]) if ranked else None,
    )
