"""The declaration of a pair, how it is asked, and what counts as spoken and as silent."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import random
import re
import runpy
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from firstbreak.cli import main

GROUPS = (
    "samples",
    "agents",
    "environments",
    "preflight",
    "systems",
    "recorders",
    "runs",
    "samples_again",
    "preflight_again",
    "strangers",
    "strangers_checks",
)
SEEDS = 2  #: noise seeds of each pair
STOP = 1  #: exit code: a report says not to go on; a larger one is no report
JSON = "json"  #: the format of reports

#: The arguments of firstbreak, or of `python`, as a user would type them in the input's folder; the last one is judged.
Commands = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Place:
    """Where an input is made, and its noise."""

    folder: Path
    rng: random.Random
    variant: str  #: a trainer, a form of messages, ...
    writer: str = ""  #: the trainer whose own code writes the dump; empty: as the generator likes


Generator = Callable[[Place, bool], Commands]


@dataclass(frozen=True)
class Told:
    """What a user is told."""

    text: str  #: everything on the screen; of a JSON report, its texts
    report: dict[str, Any]  #: the JSON report; empty where the command prints text
    code: int

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Warnings and critical findings."""
        return [f for f in self.report.get("findings", []) if f["severity"] in ("warning", "critical")]


@dataclass(frozen=True)
class Carrier:
    """One thing that a guide asks to look at, and what is asked to say it."""

    id: str  #: `carriers.<what is looked at>`
    line: str  #: the line of docs/coverage.md that it shows
    quote: str  #: the guide's own words
    variants: tuple[str, ...]  #: `form` or `form@writer`: the same texts, written by the code of a trainer
    says: str  #: found in a warning, in a critical finding, or in the text of a command without a JSON report
    shows: Callable[[Told], bool] | None  #: instead of `says`, where what is asked for is not a finding
    make: Generator

    def spoken(self, told: Told) -> list[str]:
        """What is said that should be: the pieces that match."""
        if self.shows is not None:
            return ["shown"] if self.shows(told) else []
        pieces = [f["message"] for f in told.findings] if told.report else told.text.splitlines()
        return [piece for piece in pieces if re.search(self.says, piece)]


CARRIERS: dict[str, Carrier] = {}


def carrier(
    id: str,
    *,
    line: str,
    quote: str,
    says: str = "",
    shows: Callable[[Told], bool] | None = None,
    variants: tuple[str, ...] = ("",),
) -> Callable[[Generator], Generator]:
    """Declare the decorated generator: `make(place, broken)` writes either input and returns how firstbreak is asked."""

    def declare(make: Generator) -> Generator:
        if id in CARRIERS:
            raise ValueError(f"{id} is declared twice")
        if bool(says) == bool(shows):
            raise ValueError(f"{id} needs either `says` or `shows`")
        CARRIERS[id] = Carrier(id, line, quote, variants, says, shows, make)
        return make

    return declare


@cache
def carriers() -> dict[str, Carrier]:
    """All pairs, by id."""
    for group in GROUPS:
        importlib.import_module(f"{__package__}.{group}")
    return dict(sorted(CARRIERS.items()))


@dataclass(frozen=True, order=True)
class Try:
    """One input."""

    carrier: str
    variant: str
    seed: int
    broken: bool

    @property
    def id(self) -> str:
        """Its name, by which it is made again."""
        return f"{self.carrier}/{self.variant or 'only'}/{self.seed}/{'broken' if self.broken else 'healthy'}"


@dataclass(frozen=True)
class Answer:
    """How it went."""

    tried: Try
    right: bool
    said: str  #: what was said, where it is wrong; the message, where a broken input was found
    seconds: float


def tries(wanted: Iterable[Carrier], seeds: Iterable[int]) -> list[Try]:
    """All inputs of these pairs."""
    noise = tuple(seeds)
    return [Try(c.id, v, s, b) for c in wanted for v in c.variants for s in noise for b in (True, False)]


def run(tried: Try, folder: Path | None = None) -> Answer:
    """Make one input, ask, and judge. `folder`: where it is made, and stays."""
    start = time.perf_counter()
    known = carriers()[tried.carrier]
    with contextlib.ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        told = asked(known, tried, place)
    spoken = known.spoken(told)
    if tried.broken:
        right, said = bool(spoken), spoken[0] if spoken else summary(told)
    else:
        critical = [f["message"] for f in told.findings if f["severity"] == "critical"]
        right, said = not spoken and not critical, "; ".join(spoken + critical)
    return Answer(tried, right, said, time.perf_counter() - start)


def asked(known: Carrier, tried: Try, folder: Path) -> Told:
    """What firstbreak tells of the input of this pair."""
    with contextlib.chdir(folder):
        commands = known.make(place_of(tried, folder), tried.broken)
        told = Told("", {}, 0)
        try:
            for command in commands:
                told = ask(command)
        finally:
            forget(folder)
    return told


def place_of(tried: Try, folder: Path) -> Place:
    """Where this input is made. Both sides have the same noise: they differ in what the guide speaks of, and in nothing else."""
    form, _, writer = tried.variant.partition("@")
    return Place(folder, random.Random(zlib.crc32(f"{tried.carrier}/{form}/{tried.seed}".encode())), form, writer)


def forget(folder: Path) -> None:
    """Of the modules that were imported, those of this input: the next one has its own under the same names."""
    inside = str(folder.resolve())
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(inside):
            del sys.modules[name]
    sys.path[:] = [place for place in sys.path if not place.startswith(inside)]


def ask(command: Sequence[str]) -> Told:
    """Run one command in this process, as in a shell of the current folder."""
    if command[0] == "python":
        with contextlib.redirect_stdout(io.StringIO()) as out:
            runpy.run_path(os.path.abspath(command[1]), run_name="__main__")
        return Told(out.getvalue(), {}, 0)
    code, out = 0, io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(command))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    printed = out.buffer.getvalue().decode()
    if code > STOP and JSON in command:
        raise RuntimeError(err.getvalue().strip())
    try:
        report = json.loads(printed)
    except json.JSONDecodeError:
        return Told(printed + err.getvalue(), {}, code)
    return Told("\n".join(_texts(report)), report, code)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def summary(told: Told) -> str:
    """The findings in one line; what was printed, where there are none."""
    names = [f"{f.get('detector', f.get('id'))}: {f['message'][:90]}" for f in told.findings]
    return "; ".join(names) or ("nothing was found" if told.report else told.text.strip()[-300:])
