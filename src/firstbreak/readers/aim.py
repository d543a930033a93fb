"""Aim repositories, which are recognised and refused: they are RocksDB databases with keys of Aim's own encoding.

Aim's package can read them only where it may also lock and index them, which would interfere with a live run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable

DESCRIPTION = "Aim repository (.aim): named, to be exported by Aim"

_EXPORT = "export a run with Aim: pandas.concat(m.dataframe() for m in run.metrics()).to_csv('run.csv')"


def sniff(path: Path, head: bytes) -> bool:
    """No single file is a run."""
    return False


def claims(folder: Path) -> bool:
    """Aim's folder, with its databases of parameters and of metrics."""
    return folder.name == ".aim" and (folder / "meta").is_dir() and (folder / "seqs").is_dir()


def read(path: Path, resume: Any = None) -> Recording:
    """Always raises Unreadable."""
    raise Unreadable(path, "is an Aim repository, which only Aim can decode", _EXPORT)
