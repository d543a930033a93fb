"""What a trainer prints: the last resort, when nothing else was logged.

Each file of this package is one grammar: it reads one line and returns what it found (`ParsedLine`). The first grammar
that claims a line wins. Where most numbers come with a step whose meaning is known, the steps are the index and a line
without one belongs to the step before it; otherwise the rows are numbered, and a counter is a column like any other. A
heading such as "Step 2/5" that the same names follow again and again is the step of a script and none of the training;
rows without any step take it from the progress bar beside them.

Colours are taken off, a carriage return ends a line, whatever no grammar knows is passed over, and what is left out is noted.
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.dialects import generic
from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._columns import COUNTERS, says_reward
from firstbreak.readers._tail import MAX_LINE, Lines, still_holds
from firstbreak.readers.budget import NAME, POINT, spend
from firstbreak.readers.console import forms, options, pairs, prime_rl, verl
from firstbreak.readers.console._reading import NOTHING, LineKind, ParsedLine
from firstbreak.readers.console.events import Events
from firstbreak.readers.console.headings import CENTRED, Headings, counts, kind, step
from firstbreak.readers.console.progress_bars import InterleavedBars, ProgressBars
from firstbreak.readers.console.records import DictLines, apart
from firstbreak.readers.console.results import Results
from firstbreak.readers.console.tables import Tables
from firstbreak.readers.opening import open_file
from firstbreak.values import replace

DESCRIPTION = "console output: dicts, tables, progress bars and name: value lines of all known trainers"
FILES = (
    "*.log",
    "*.out",
    "*.err",
    "*.stdout",
    "*.stderr",
    "*.txt",
    "*.logfmt",
    "*.metrics",
    "*.stats",
    "*.history",
    "*.trace",
)
PRIORITY = -20
ROUNDED = True
SUFFIXES = {".log", ".out", ".err", ".stdout", ".stderr"}
#: of files that are no log, whatever numbers they hold
OTHERS = frozenset(
    [
        ".py",
        ".md",
        ".rst",
        ".yaml",
        ".yml",
        ".json",
        ".jsonl",
        ".ndjson",
        ".toml",
        ".ini",
        ".cfg",
        ".conf",
        ".sh",
        ".html",
        ".xml",
        ".ipynb",
        ".lock",
        ".csv",
        ".tsv",
        ".js",
        ".css",
        ".c",
        ".cc",
        ".h",
        ".cpp",
        ".rs",
        ".go",
        ".tex",
        ".bib",
        ".svg",
        ".gz",
        ".xz",
        ".zip",
        ".dat",
        ".env",
        ".patch",
        ".diff",
    ]
)

MORE, METRICS = 1.1, 3  #: times as many numbers as the grammars find; names beside counters that are no prose
_SAMPLE, _LARGEST = 1 << 18, 1 << 25  #: bytes: what is tried, and what is read so
REPEATS = 3  #: how often a name comes in one step
STEPS_OF_A_SCRIPT = 10  #: a log that tells so many steps apart counts those of the training
_COUNTED = COUNTERS - {"epoch", "epochs", "time", "timestamp"}
BLOCK = 5  #: names of one block behind its step, a reward among them: a log that ends there was pasted
RARE = 200  #: a number without a step is a metric if its name comes again, and in a long log in one row of so many

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_RAY = re.compile(r"\(\w[\w.<>]* pid=\d+(?:, ip=[\d.]+)?\) ?|\[(?:default\d+|rank ?\d+)\]: ?")
_BESIDE_BAR = re.compile(
    r"([^|]*%\|[^|]*\|\s*\d+/\d+ \[(?:[^\[\]]|\[[^\[\]]*\])*\])\s*([^\s{\d].*)"
)  #: and what was printed
_WHOLE, _PREAMBLE = 1 << 12, 1 << 17  #: bytes: a shorter beginning is a whole file; largest part that is searched
_LOG_NAME = re.compile(r"log|stdout|stderr|console|nohup|terminal|train", re.IGNORECASE)


def sniff(path: Path, head: bytes) -> bool:
    """A text file with the name of a log, or a .txt that begins like one, banners and warnings apart."""
    if path.suffix.lower() in SUFFIXES:
        return head.count(b"\0") * 100 <= len(head)
    if path.suffix.lower() != ".txt":  # `metrics.logfmt`: whatever its author called it
        return path.suffix.lower() not in OTHERS and b"\0" not in head and _by_forms(_beginning(path, head) or head)
    if _LOG_NAME.search(path.stem) or options.CALL.match(head[:_WHOLE].decode("utf-8", "replace")):
        return True
    beginning = _beginning(path, head) or head
    return _speaks(head, times=1) or _speaks(beginning, times=3) or _by_forms(beginning)


def _by_forms(content: bytes) -> bool:
    """Whether lines of one form say several numbers again and again."""
    return _metrics(forms.mined(_text(content))[0]) >= METRICS


def speaks(path: Path) -> bool:
    """Whether a text between other words is what a trainer printed: a number again and again, or many of one step."""
    console = Console()
    console.feed(_beginning(path, b" " * _WHOLE).decode("utf-8", "replace"))
    curves = console.recording().curves.values()
    return len(curves) > 2 * BLOCK or any(len(curve.values) >= REPEATS for curve in curves)


def _beginning(path: Path, head: bytes) -> bytes:
    """The first lines with what may stand before them: the output of MPI, a compiler's or a library's warnings."""
    if len(head) < _WHOLE:
        return b""
    try:
        with open_file(path) as file:
            return file.read(_PREAMBLE)
    except Unreadable:  # the name of what is packed in a file
        return b""


def _speaks(head: bytes, times: int) -> bool:
    """Whether a grammar finds a number that is said so often; prose has a number here and there."""
    console = Console()
    console.feed(head.decode("utf-8", "replace"))
    return any(len(curve.values) >= times for curve in console.recording().curves.values())


def read(path: Path, resume: Any = None) -> Recording:
    """What was printed; with `resume`, what was printed since."""
    cursor = still_holds(path, resume)
    with open_file(path) as file:
        if not file.seek(0, 2):
            raise Unreadable(path, "is empty", "wait until the trainer has printed its first numbers")
        console = copy.deepcopy(cursor.context) if cursor else Console()
        lines = Lines(file, cursor.offset if cursor else 0)
        for block in lines.blocks():
            console.feed(block.decode("utf-8", "replace"))
        recording = console.recording()
        recording.resume = lines.cursor(0, console)
    if lines.unfinished:
        recording.notes.append(f"the last line has no end yet, left for the next read ({lines.unfinished} bytes)")
    if lines.skipped:
        recording.damage.append(f"{lines.skipped} lines longer than {MAX_LINE >> 20} MiB left out; check the file")
    recording.replaces = resume is not None and cursor is None
    return recording if resume is not None else _by_form(path, recording)


def _by_form(path: Path, known: Recording) -> Recording:
    """The recording, or what lines of one form say where that is clearly more: the grammars do not know how it was printed."""
    with open_file(path) as file:
        text = _text(file.read(_SAMPLE))
        whole = file.seek(0, 2) <= _SAMPLE
        sample = known
        if not whole:
            console = Console()
            console.feed(text)
            sample = console.recording()
        curves, events = forms.mined(text)
        if _metrics(curves) < METRICS or _size(curves) <= MORE * _size(sample.curves) + forms.AGAIN:
            return known
        if not whole:
            file.seek(0)
            curves, events = forms.mined(_text(file.read(_LARGEST)))
    return replace(known, curves=curves, events=events, nulls={}, indexed_by="row", resume=None)


def _metrics(curves: Mapping[str, Curve]) -> int:
    """The number of names that count nothing, and whose numbers change."""
    return sum(not counts(name) and np.ptp(curve.values) != 0 for name, curve in curves.items())


def _text(content: bytes) -> str:
    """Whole lines, without colours and carriage returns."""
    return "\n".join(_clean(content[: content.rfind(b"\n") + 1 or None].decode("utf-8", "replace")))


def _size(curves: Mapping[str, Curve]) -> int:
    return sum(len(curve.values) for curve in curves.values())


class Console:
    """Lines in, curves out. Between two reads it keeps the open block, the step and the names seen so far."""

    def __init__(self) -> None:
        self._grammars: list[Callable[[str], ParsedLine | None]] = [
            Results().read,
            verl.read,
            options.read,
            prime_rl.read,
            DictLines().read,
            step,
            ProgressBars().read,
            Tables().read,
            pairs.read,
        ]
        self._row = -1
        self._open: set[str] = set()  #: names in the open block
        self._block = False
        self._beside = False  #: the line before held numbers
        self._step: float | None = None
        self._counts: Counter[tuple[bool, bool]] = Counter()  #: weak, with a step -> numbers
        self._bars = InterleavedBars()
        self._reported = 0  #: steps that numbers came with
        self._repeats: Counter[str] = Counter()  #: how often each name came since the last step
        self._again: Counter[bool] = Counter()  #: weak -> numbers that came too often in one step
        self._points: dict[str, list[tuple[int, float | None, float]]] = {}
        self._nulls: dict[str, list[tuple[int, float | None, float]]] = {}
        self._weak: dict[str, list[tuple[int, float | None, float]]] = {}
        self._seen: Counter[str] = Counter()  #: points of weak names, over all reads
        self._sure: set[str] = set()  #: weak names that a line or a block names beside others that are understood
        self._headings = Headings()
        self._counted: dict[str, list[tuple[int, float | None, float]]] = {}  #: what headings count
        self._config: dict[str, Any] = {}
        self._events = Events()

    def feed(self, text: str) -> None:
        """Reads whole lines."""
        for line in _clean(text):
            self._bars.see(line)
            found = (grammar(line) for grammar in self._grammars if line)
            reading = next((reading for reading in found if reading is not None), NOTHING)
            below = self._block and self._beside and self._open.isdisjoint(reading.values)
            below = below or (self._row >= 0 and line.startswith(" " * CENTRED))  # the foot of rsl_rl's block
            if reading.kind is LineKind.HEADING and reading.weak and below:  # counters that are a part of the block
                reading = replace(reading, kind=LineKind.FRAGMENT)
            self._beside = bool(reading.values)
            self._take(reading, self._headings.see(line, reading))
            if line and (not reading.values or self._events.is_raised(line)):
                self._events.see(line, self._row, self._step)

    def _take(self, reading: ParsedLine, values: Mapping[str, float]) -> None:
        self._config.update(reading.config)
        self._block = self._block and reading.kind not in (LineKind.BREAK, LineKind.HEADING)
        if reading.step is not None:
            self._step = reading.step
            self._reported += bool(self._repeats) or not self._reported
            self._repeats.clear()
        if not values:
            return
        if reading.kind is LineKind.ROW or not self._block or not self._open.isdisjoint(values):
            self._row += 1
            self._open = set()
            self._bars.row(self._row)
        self._block = reading.kind is LineKind.FRAGMENT
        self._open.update(values)
        for name, value in self._headings.counters.items():
            self._counted.setdefault(name, []).append((self._row, self._step, value))
        self._open.update(self._headings.counters)
        self._headings.counters.clear()
        beside = len(values) > 1
        known = any if beside and reading.kind is LineKind.FRAGMENT else all  # columns are no prose
        if reading.weak and (beside or self._headings.inside) and known(map(generic.translate, values)):
            self._sure.update(values)
        points = self._weak if reading.weak else self._points
        spend(POINT * len(values) + NAME * sum(name not in points for name in values))
        self._counts[reading.weak, self._step is not None] += len(values)
        if self._step is not None:
            self._repeats.update(values.keys())
            if not (self._headings.inside and self._headings.prefix):
                self._again[reading.weak] += sum(self._repeats[name] > REPEATS for name in values)
        for name, value in values.items():
            points.setdefault(name, []).append((self._row, self._step, value))
        for name in filter(says_reward, reading.nulls):
            self._nulls.setdefault(name, []).append((self._row, self._step, 0.0))

    def recording(self) -> Recording:
        """What was fed since the last call."""
        weak = not self._counts[False, True] + self._counts[False, False]  # they decide where nothing else is
        again = self._again[weak] if self._reported < STEPS_OF_A_SCRIPT else 0
        has_steps = self._counts[weak, True] - again > self._counts[weak, False] + again
        if not has_steps:
            self._take_headings()
        curves = {name: _curve(points, has_steps) for name, points in self._points.items()}
        pasted = self._reported == 1 or (self._counted and self._row < REPEATS)
        alone = pasted and curves.keys() <= self._counted.keys() and len(self._weak) >= BLOCK
        alone = alone and any(map(says_reward, self._weak))
        for name, points in self._weak.items():
            self._seen[name] += len(points)
            if (alone or name in self._sure or self._seen[name] > max(1, self._row // RARE)) and name not in curves:
                curves[name] = _curve(points, has_steps)
        once = {name: points[-1] for name, points in self._weak.items() if name not in curves}
        options = {name: option for name in once if (option := "_".join(name.lower().split())) in generic.CONFIG}
        options = {name: option for name, option in options.items() if not once[name][0]}  # above the first row
        self._config.update({option: once[name][2] for name, option in options.items()})
        held_out = {name for name in once if (of := generic.translate(name)) and of.signal.startswith("eval.")}
        evaluated = Counter(once[name][0] for name in held_out)  #: row -> names of an evaluation
        for name, last in once.items():  # `Evaluation score: 124.4` at the end
            if curves and (last[0] > REPEATS or evaluated[last[0]] > 1) and name in held_out:
                curves[name] = _curve([last], has_steps)
        left = ", ".join(name for name in once if name not in curves and name not in options)
        if not has_steps and _COUNTED.isdisjoint(name.lower() for name in (*curves, *self._seen)):
            counted = self._bars.steps(self._row + 1)
            if counted and counted[0] not in curves:
                curves[counted[0]] = counted[1]
        recording = Recording(
            format="console",
            curves=curves,
            nulls={name: _curve(points, has_steps).index for name, points in self._nulls.items()},
            indexed_by="step" if has_steps else "row",
            config=dict(self._config),
            events=self._events.told(self._row, has_steps),
            notes=[f"printed once, without a step, and left out: {left:.200}"] if left else [],
        )
        self._points, self._weak, self._nulls, self._counted = {}, {}, {}, {}
        return recording

    def _take_headings(self) -> None:
        """What headings count becomes a column; where lines count the same themselves, points of theirs."""
        own = [name for name in self._points if counts(name)]
        for name, points in self._counted.items():
            if kind(name) != "iter" and len(points) < STEPS_OF_A_SCRIPT and self._row >= REPEATS * len(points):
                continue  # the parts of a script
            for like in [other for other in own if kind(other) == kind(name)] if own else [name]:
                joined = sorted([*self._points.get(like, ()), *points])
                if not own or all(before[2] <= after[2] for before, after in pairwise(joined)):
                    self._points[like] = joined


def _curve(points: list[tuple[int, float | None, float]], has_steps: bool) -> Curve:
    rows, steps_, values = zip(*points, strict=True)
    index = [0.0 if step is None else step for step in steps_] if has_steps else rows
    return Curve(index=np.array(index, dtype=float), values=np.array(values, dtype=float))


def _clean(text: str) -> Iterable[str]:
    """The lines without colours, carriage returns and the marks of Ray and torchrun."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = line.removeprefix("> ")  # quoted
        bar = _BESIDE_BAR.match(line) if "%|" in line else None
        yield from bar.groups() if bar else apart(_RAY.sub("", line, count=1)) if line[:1] in ("(", "[") else (line,)
