"""The options --one-run and --each, the runs of a path, with what is said of how they were told apart, and reading one."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import click

from firstbreak.cli._output import say, waiting
from firstbreak.model import EMPTY, Run
from firstbreak.readers import Unreadable
from firstbreak.readers import read as reading
from firstbreak.readers.grouping import How, find_runs, group
from firstbreak.readers.names import Names

NAMED = 3  #: of several runs


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `how`, which says how paths are divided into runs."""
    for flag, value, said in (
        ("--each", How.EACH, "Every log and every folder directly below PATH is a run."),
        ("--one-run", How.ONE, "All that lies below PATH is one run."),
    ):
        function = click.option(flag, "how", flag_value=value, type=How, help=said)(function)
    return function


def one_run(path: str, otherwise: str = "") -> str:
    """The path, which a command takes as one run. Raises `Unreadable` where it holds several: as one, they would be a run that
    nobody trained. `otherwise`: what else can be done with several.
    """
    runs = find_runs(path)
    if len(runs) > 1:
        several = ", ".join(map(str, runs[:NAMED])) + (", ..." if len(runs) > NAMED else "")
        raise Unreadable(path, f"holds {len(runs)} runs", f"name one of {several}{otherwise}")
    return path


def runs_of(path: str, how: How | None) -> list[Path]:
    """The runs of a path. How they were told apart is said on stderr, where something had to be decided."""
    found = group(path, how or How.AUTO)
    if found.why:
        say(found.why)
    return list(found.runs)


def read(path: str | PathLike[str], *, trainer: str | None = None, named: Names = EMPTY) -> Run:
    """The run of a path. Shows the seconds where it takes long. Raises `Unreadable`."""
    with waiting(f"reading {path}"):
        return reading.read(path, trainer=trainer, named=named)


def read_one(path: str, trainer: str | None = None) -> Run:
    """The only run of a path. Raises `Unreadable`, also where it holds several."""
    return read(one_run(path), trainer=trainer)
