"""Bytes -> recordings: one file per FORMAT. A reader knows no trainer; it returns the names it finds.

A reader is a module with

    DESCRIPTION: str                                    one line: who writes this file
    def sniff(path: Path, head: bytes) -> bool          cheap; `head` is the first 4 KiB; raises nothing but Unreadable
    def read(path: Path, resume=None) -> Recording      keeps what is whole; else raises Unreadable
    def samples(path: Path) -> Iterator[Sample]         optional: streams the completions that the file holds
    def parts(path: Path) -> list[Span]                 optional: where samples(path, span) can be read on its own
    def claims(folder: Path) -> bool                    optional: the folder is one recording, and read() gets it
    def merge(recordings) -> Recording                  optional: several files are one stream (parallel environments)
    def tested(recordings, training) -> Recording       with merge: the same of files that hold evaluations
    def runs(path: Path) -> list[str]                   optional: the runs in a database; read(Path("db#run")) gives one

    BESIDE: bool                                        optional: it holds options only, so that it makes no folder a run
    FALLBACK: bool                                      optional: what other files say of an option counts before it
    ROUNDED: bool                                       optional: the numbers were written for a screen, so that a copy is better

    FILES: tuple[str, ...]                              optional: patterns of names; nothing else is claimed than such a file,
                                                        and a folder which holds such an entry, or is called so
    HEADS: tuple[bytes, ...]                            optional: or a file that begins so

and, where several readers could claim a file, PRIORITY (an int, default 0; the highest claim wins).

`read(path, resume=recording.resume)` returns only what has been appended since, so the same code serves a live run.
Where the file was rewritten or cut in the meantime, it is read anew and the Recording says `replaces=True`. A reader that
always reads the whole file leaves both out.
Nothing from a log is ever executed or unpickled.
"""

import fnmatch
import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from firstbreak import plugins
from firstbreak.model import Event

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"


class Unreadable(Exception):
    """A file that cannot be read. `str()` of it is the one line that the user sees: file, place, remedy."""

    def __init__(self, path: Path | str, problem: str, remedy: str, place: str = "") -> None:
        self.path, self.problem, self.remedy, self.place = str(path), problem, remedy, place
        where = f"{self.path}:{place}" if place else self.path
        super().__init__(f"{where}: {problem}; {remedy}")


def why(error: Exception) -> str:
    """What went wrong, in words: without the number of the system's error, and without the path, which is said already."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


@dataclass(kw_only=True, eq=False)
class Curve:
    """One raw name's numbers in file order, in arrays of equal length.

    NaN and infinities are kept as they were logged; absent cells and nulls are left out (see `Recording.nulls`).
    """

    index: np.ndarray  #: float64 (n,): the step where the format carries one, else the row number
    values: np.ndarray  #: float64 (n,)
    times: np.ndarray | None = None  #: float64 (n,): unix seconds, where the format carries them


@dataclass(kw_only=True)
class Recording:
    """What one file holds, in the writer's own words."""

    format: str  #: the reader's name
    curves: dict[str, Curve] = field(default_factory=dict)
    nulls: dict[str, np.ndarray] = field(
        default_factory=dict
    )  #: name of a reward -> `index` of the rows that hold null
    indexed_by: str = (
        "row"  #: "step" where `Curve.index` is the logged step, "row" where the dialect must choose the axis
    )
    axis: str = ""  #: what the logged step counts, where the format says so ("timesteps"); else the dialect knows
    segment: np.ndarray | None = None  #: (rows,) restart segment of each row, where the file marks restarts itself
    config: dict[str, Any] = field(default_factory=dict)  #: raw hyperparameters, nested keys joined with "."
    order: float = 0.0  #: place among files of one run (creation time in seconds), for restarts over several files
    restarts_at: float | None = None  #: the file declares earlier files' points at or after this step void (purge_step)
    has_samples: bool = False  #: the module's `samples(path)` yields at least one sample
    damage: list[str] = field(default_factory=list)  #: what was lost, each with place and remedy
    cut: bool = False  #: how much was lost is not known: a part behind the damage, or the rest
    unread: list[str] = field(default_factory=list)  #: files of it that were not read at all, each with the remedy
    events: list[tuple[float, Event]] = field(default_factory=list)  #: with the `Curve.index` of the last number before
    notes: list[str] = field(default_factory=list)  #: facts: "tail is still being written", versions, ...
    resume: Any = None  #: opaque: pass it to the next read() of the same file; None: that one reads it anew
    replaces: bool = False  #: resumed on a file that was rewritten since: these curves replace the earlier ones


class Readers(Mapping[str, ModuleType]):
    """Format -> reader module, the highest PRIORITY first, then in alphabetical order. A file is imported when its turn comes.

    `index.json` says which files of this folder are readers, with their priorities (`make docs` writes it). A file that has
    changed since then, or is new, is imported to see: there is no list to edit.
    """

    def __init__(self) -> None:
        table = json.loads(INDEX.read_text("utf-8")) if INDEX.exists() else {}
        found: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for name, size in files():
            row = table.get(name)
            row = row if row is not None and row["bytes"] == size else said(f"{__name__}.{name}", size)
            if "priority" in row:
                found[name] = f"{__name__}.{name}", row
        for module in plugins.elsewhere("firstbreak.readers"):
            if (name := module.rpartition(".")[2]) in found:
                raise plugins.BadPlugin(f"{module}: the name {name!r} is taken by {found[name][0]}")
            found[name] = module, said(module, 0)
        order = sorted(sorted(found), key=lambda name: -found[name][1].get("priority", 0))
        self._modules = {name: found[name][0] for name in order}
        self._rows = {name: found[name][1] for name in order}

    def __getitem__(self, name: str) -> ModuleType:
        return importlib.import_module(self._modules[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def of_file(self, name: str, head: bytes) -> Iterator[ModuleType]:
        """Those that may read a file of this name that begins so."""
        return (self[reader] for reader, row in self._rows.items() if _may(row, [name], head))

    def of_folder(self, folder: Path, name: str) -> Iterator[ModuleType]:
        """Those that may read a folder of this name as a whole."""
        try:
            names = [name, *os.listdir(folder)]
        except OSError:
            names = [name]
        return (self[reader] for reader, row in self._rows.items() if row.get("claims") and _may(row, names, b""))


def _may(row: Mapping[str, Any], names: Sequence[str], head: bytes) -> bool:
    """Whether what a reader says of its files fits a file, or a folder with its entries."""
    patterns, heads = row.get("files", ()), row.get("heads", ())
    fits = any(_fits(name.lower(), pattern) for pattern in patterns for name in names)
    return fits or not (patterns or heads) or head.startswith(tuple(start.encode("latin-1") for start in heads))


def _fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern; most are an ending, or a whole name."""
    ending = pattern.removeprefix("*")
    if not any(mark in ending for mark in "*?["):
        return name.endswith(ending) if pattern != ending else name == pattern
    return fnmatch.fnmatchcase(name, pattern)


def files() -> Iterator[tuple[str, int]]:
    """(name, bytes) of the files of this folder that may be readers; a folder counts by its first file."""
    for entry in os.scandir(FOLDER):
        inside = Path(entry.path, "__init__.py")
        if entry.name.startswith("_") or not (entry.name.endswith(".py") or inside.is_file()):
            continue
        size = entry.stat().st_size if entry.is_file() else inside.stat().st_size
        yield entry.name.removesuffix(".py"), size


def said(module: str, size: int) -> Mapping[str, Any]:
    """What the table holds of a module; its size alone where it is no reader."""
    found = importlib.import_module(module)
    if not hasattr(found, "sniff"):
        return {"bytes": size}
    row = {"bytes": size, "priority": getattr(found, "PRIORITY", 0), "claims": hasattr(found, "claims")}
    heads = [head.decode("latin-1") for head in getattr(found, "HEADS", ())]
    return row | {key: list(what) for key, what in (("files", getattr(found, "FILES", ())), ("heads", heads)) if what}


def table() -> str:
    """The table as it has to be, one line for each file, for `make docs`."""
    rows = (f" {json.dumps(name)}: {json.dumps(said(f'{__name__}.{name}', size))}" for name, size in sorted(files()))
    return "{\n" + ",\n".join(rows) + "\n}\n"


@cache
def readers() -> Readers:
    """The readers of this folder, and those of other packages."""
    return Readers()
