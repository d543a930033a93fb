"""Dumps of completions, one JSON object per line or a row of a table: verl, AReaL, NeMo-RL, prime-rl, tinker, ...

A record is recognised by its field names, so a dump is recognised in any folder.
"""

import csv
import io
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from firstbreak.model import Sample
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._json import loads
from firstbreak.readers._literal import number
from firstbreak.readers._samples import PART, TEXTS, Span, samples_of, shape_of
from firstbreak.readers._tail import Lines, line_start
from firstbreak.readers.jsonl import SUFFIXES, holds_objects
from firstbreak.readers.opening import open_file

DESCRIPTION = "completions as JSON lines: verl, AReaL, NeMo-RL, prime-rl, open-instruct, tinker, SkyRL, OpenRLHF dumps"
FILES = ("*.jsonl", "*.ndjson", "*.csv", "*.tsv")
PRIORITY = 10  # above plain JSON lines
TABLES = (".csv", ".tsv")
FIRST = 20  #: rows that are looked at: a completion may be a number


def sniff(path: Path, head: bytes) -> bool:
    """JSON lines whose first record has the names of a sample; the record may be longer than the head."""
    if path.suffix.lower() in TABLES:
        named = shape_of(head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(_mark(path)))
        texts = {named.prompt, named.completion} - {""} if named and named.completion else set()
        rows = list(islice(_rows(path), FIRST)) if texts else []
        return bool(rows) and any(number(str(row.get(name))) is None for row in rows for name in texts)
    if path.suffix.lower() not in SUFFIXES or not holds_objects(head):
        return False
    try:
        record = next(records(path), None)
    except (OSError, Unreadable):
        return False
    return isinstance(record, dict) and shape_of(record) is not None


def read(path: Path, resume: Any = None) -> Recording:
    """Says that the file holds samples, and how many of its lines are cut or broken; `samples` streams them."""
    recording = Recording(format="sample_dump", has_samples=True)
    if next(samples(path), None) is None:
        raise Unreadable(path, "holds no completion", "give a dump with one JSON object per completion")
    if path.suffix.lower() not in TABLES and (broken := sum(map(_broken, _blocks(path)))):
        recording.damage.append(f"left out {broken} lines that are no whole JSON object; check for a killed writer")
    return recording


def samples(path: Path, span: Span | None = None) -> Iterator[Sample]:
    """Every sample, one line in memory at a time; of a span of bytes, those whose line begins there.

    Broken lines are passed over.
    """
    return samples_of(records(path, span), path)


def parts(path: Path) -> list[Span]:
    """Spans of bytes, some megabytes each; a table is one part."""
    if path.suffix.lower() in TABLES:
        return []
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
    return [(start, start + PART) for start in range(0, size, PART)]


def records(path: Path, span: Span | None = None) -> Iterator[Any]:
    """The values of the lines that can be read."""
    if path.suffix.lower() in TABLES:
        yield from _rows(path)
        return
    for line in lines(path, span):
        try:
            yield loads(line)
        except ValueError:
            continue


def _mark(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table, numbers as such."""
    with open_file(path) as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8", "replace", newline=""), delimiter=_mark(path)):
            yield {
                str(name): cell if name in TEXTS or (read := number(str(cell))) is None else read
                for name, cell in row.items()
                if name
            }


def lines(path: Path, span: Span | None = None) -> Iterator[bytes]:
    """The lines that are not blank."""
    for block in _blocks(path, span):
        yield from filter(None, map(bytes.strip, block.split(b"\n")))


def _blocks(path: Path, span: Span | None = None) -> Iterator[bytes]:
    """Whole lines, some of them together; the last one may be without a newline."""
    with open_file(path) as file:
        found = Lines(file) if span is None else Lines(file, *(line_start(file, edge) for edge in span))
        yield from found.blocks()
        yield found.rest()


def _broken(block: bytes) -> int:
    """How many lines are no whole object, as far as their ends tell."""
    inner = block.strip()
    if inner[:1] == b"{" and inner[-1:] == b"}" and inner.count(b"}\n{") == inner.count(b"\n"):
        return 0  # the usual case, at a tenth of the cost
    found = filter(None, map(bytes.strip, block.split(b"\n")))
    return sum(not (line.startswith(b"{") and line.endswith(b"}")) for line in found)
