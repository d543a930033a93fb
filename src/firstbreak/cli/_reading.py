"""Reads a run for a command, which shows the seconds where it takes long."""

from os import PathLike

from firstbreak.cli._output import waiting
from firstbreak.model import EMPTY, Run
from firstbreak.readers import read as runs
from firstbreak.readers.names import Names


def read(path: str | PathLike[str], *, trainer: str | None = None, named: Names = EMPTY) -> Run:
    """The run of a path. Raises `Unreadable`."""
    with waiting(f"reading {path}"):
        return runs.read(path, trainer=trainer, named=named)
