"""One JSON object per line: metrics.jsonl, RLlib's result.json, SB3's progress.json, trainer_log.jsonl, ...

Nested names are joined with "/". The row is the index, and the dialect chooses the step key, except in the envelope
`{"step": N, "data": {...}}` (verl's file logger), where the step is known. An object called `config` (RLlib repeats it
in every line) is the config. Bare NaN and Infinity are read; null is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from firstbreak.dialects._table import words
from firstbreak.patterns import pattern
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import Columns, all_by_split, as_float, leaves
from firstbreak.readers._json import loads
from firstbreak.readers._tail import MAX_LINE, Lines, still_holds
from firstbreak.readers.opening import open_file

DESCRIPTION = "one JSON object per line: RLlib result.json, SB3 progress.json, metrics.jsonl of verl, prime-rl, tinker"
SUFFIXES = {".jsonl", ".ndjson"}

_LOG_NAMES = frozenset({"result.json", "progress.json", "metrics.json", "log.json"})
_PEEK = 1 << 20
#: how rows of a replay buffer name an observation and the one after it
OBSERVED = tuple(
    (name, after)
    for name in ("state", "obs", "observation", "s")
    for after in (f"next_{name}", f"{name}_next", f"new_{name}", f"{name}2", f"{name}_")
)
UNCHANGED = "env.transition_unchanged"
#: what a row of a replay buffer holds beside the two; with anything else it is a row of a log
IN_A_BUFFER = frozenset(words("action act a reward rew r done terminated truncated terminal info discount mask"))
REFUSAL_FOR_ANSWER = "pref.refusal_for_answer"
_REFUSES = pattern(
    r"\W*(?:i(?:'m| am) )?(?:sorry|unable|afraid|no idea|not sure|ask some(?:one|body) else|"
    r"i (?:do not|don['’]t) know|i (?:cannot|can not|can['’]t|won['’]t|will not) |as an ai)\b",
    re.IGNORECASE,
)
_SHORT = 80  #: characters: what is rejected to refuse what is harmful is longer

_COUNTED = frozenset(
    words("step global_step _step iteration iter it update upd epoch episode ep timestep env_steps frames")
)

Record = dict[str, Any]


def sniff(path: Path, head: bytes) -> bool:
    """Lines that begin with "{": two of them, or one in a file that is named like a log of lines."""
    if path.suffix.lower() in SUFFIXES:
        return holds_objects(head)
    if not head.lstrip().startswith(b"{") or b"\0" in head:
        return False
    if not head.lstrip().startswith(b'{"') or path.suffix.lower() == ".ipynb":  # `{'` is what Python prints
        return False
    if path.name in _LOG_NAMES:
        return True
    if b"\n" not in head:
        try:
            with open_file(path) as file:
                head = file.read(_PEEK)
        except Unreadable:
            return False
    first, _, rest = head.lstrip().partition(b"\n")
    return first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")


def holds_objects(head: bytes) -> bool:
    """Whether text of this beginning may be lines of JSON objects: the first one may be cut, or be a message."""
    return b"\0" not in head and (head.lstrip().startswith(b"{") or b'":' in head)


def read(path: Path, resume: Any = None) -> Recording:
    """The curves; with `resume`, of the lines appended since."""
    cursor = still_holds(path, resume)
    with open_file(path) as file:
        lines = Lines(file, cursor.offset if cursor else 0)
        log = _Log(*cursor.context) if cursor else _Log()
        log.rows = cursor.rows if cursor else 0
        for block in lines.blocks():
            log.add(block)
        _take_whole_rest(log, lines)
        recording = log.recording()
        recording.resume = lines.cursor(log.rows, (log.enveloped, log.line))
    if cursor is None and not log.rows and not lines.unfinished:
        problem = "no line is a JSON object" if lines.offset else "is empty"
        raise Unreadable(path, problem, "check that it is a log with one JSON object per line")
    if lines.unfinished:
        recording.notes.append(f"the last line is not whole yet, left for the next read ({lines.unfinished} bytes)")
    if lines.skipped:
        recording.damage.append(f"{lines.skipped} lines longer than {MAX_LINE >> 20} MiB left out; check the writer")
    recording.replaces = resume is not None and cursor is None
    return recording


def _take_whole_rest(log: _Log, lines: Lines) -> None:
    """A last line without a newline counts if it is whole, which JSON can tell."""
    rest = lines.rest()
    try:
        whole = isinstance(loads(rest), dict)
    except ValueError:
        return
    if whole:
        log.add(rest + b"\n")
        lines.offset += len(rest)
        lines.unfinished = 0


class _Log:
    """Lines in, columns out."""

    def __init__(self, enveloped: bool | None = None, line: int = 0) -> None:
        self.enveloped = enveloped  #: the lines are {"step": N, "data": {...}}; None before the first one
        self.line = line
        self.rows = 0
        self.transitions = 0  #: rows of a replay buffer
        self.columns = Columns(quoted=True)
        self.broken: list[int] = []
        self.options: dict[str, Any] = {}  #: of a first line that describes the run

    def add(self, block: bytes) -> None:
        """Adds whole lines."""
        records = self._parse(block)
        if self.enveloped is None and records:
            self.enveloped = _is_envelope(records[0])
        if self.enveloped:
            records = [record for record in records if _is_envelope(record)]
        if not self.rows and _says_options(records):
            self.options = dict(leaves(records[0], "."))
            records = records[1:]
        index = np.arange(self.rows, self.rows + len(records), dtype=float)
        if self.enveloped:
            index = np.array([as_float(record["step"]) for record in records])
            records = [record["data"] for record in records]
        buffered = (pair for pair in OBSERVED if records and records[0].keys() >= set(pair))
        if (pair := next(buffered, None)) is not None:
            only = records[0].keys() <= IN_A_BUFFER | set(pair)
            self.transitions += len(records) * only
            records = [_with_change(record, *pair, only=only) for record in records]
        elif records and {"chosen", "rejected"} <= records[0].keys():
            records = _with_refusals(records)
        self.columns.add_records(all_by_split(records), index)
        self.rows += len(records)

    def _parse(self, block: bytes) -> list[Record]:
        lines = int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))  # faster than bytes.count
        try:
            joined = memoryview(block.replace(b"\n", b","))[:-1]
            values = orjson.loads(b"".join((b"[", joined, b"]")))  # much faster than line by line
        except orjson.JSONDecodeError:
            values = []
        if len(values) != lines:
            values = list(self._parse_each(block))
        self.line += lines
        return values if set(map(type, values)) <= {dict} else [value for value in values if isinstance(value, dict)]

    def _parse_each(self, block: bytes) -> Iterator[Any]:
        """Line by line: for broken and empty lines, NaN, and whatever else orjson refuses."""
        for number, line in enumerate(block.split(b"\n")[:-1], self.line + 1):
            try:
                if line.strip():
                    yield loads(line)
            except ValueError:
                self.broken.append(number)

    def recording(self) -> Recording:
        recording = self.columns.recording("jsonl", indexed_by="step" if self.enveloped else "row")
        recording.config = {**self.options, **recording.config}
        if self.transitions:
            recording.notes.append(f"{self.transitions} stored transitions: read for whether the observation changes")
        if self.broken:
            count = len(self.broken)
            recording.damage.append(
                f"line {self.broken[0]}: {count} lines are no JSON object, left out; check for a killed writer"
            )
        return recording


def _says_options(records: list[Record]) -> bool:
    """Whether the first line holds words and has no step, and few of its names come again: the options of the run."""
    if len(records) < 3 or not any(isinstance(value, str) for value in records[0].values()):
        return False
    first, then = records[0].keys(), records[1].keys()
    return first.isdisjoint(_COUNTED) and not then.isdisjoint(_COUNTED) and 2 * len(first & then) < len(first)


def _with_change(record: Record, name: str, after: str, *, only: bool) -> Record:
    """Whether the observation changes, beside the numbers of a log, or alone where the row is one of a buffer."""
    known = name in record and after in record
    return ({} if only else record) | ({UNCHANGED: float(record[name] == record[after])} if known else {})


def _with_refusals(pairs: list[Record]) -> list[Record]:
    """Where some chosen answer refuses and the rejected one is short: which, beside the numbers of the pairs."""
    said = [[_said(pair.get(name)) for name in ("chosen", "rejected")] for pair in pairs]
    refused = [bool(_REFUSES.match(c)) and 0 < len(r) <= _SHORT and not _REFUSES.match(r) for c, r in said]
    if not any(refused):
        return pairs
    return [pair | {REFUSAL_FOR_ANSWER: float(wrong)} for pair, wrong in zip(pairs, refused, strict=True)]


def _said(answer: Any) -> str:
    """An answer, or the last message of a conversation."""
    last = answer[-1] if isinstance(answer, list) and answer else answer
    said = last.get("content") if isinstance(last, dict) else last
    return said.strip() if isinstance(said, str) else ""


def _is_envelope(record: Record) -> bool:
    return (
        record.keys() == {"step", "data"}
        and isinstance(record["data"], dict)
        and isinstance(record["step"], (int, float))
    )
