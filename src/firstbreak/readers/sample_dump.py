"""Dumps of completions, one JSON object per line: verl, AReaL, NeMo-RL, prime-rl, open-instruct, tinker, SkyRL, ...

What a record is told by is the names in it, so that a dump is recognised wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firstbreak.model import Sample
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._json import loads
from firstbreak.readers._samples import samples_of, shape_of
from firstbreak.readers._tail import Lines, open_file

DESCRIPTION = "completions as JSON lines: verl, AReaL, NeMo-RL, prime-rl, open-instruct, tinker, SkyRL, OpenRLHF dumps"
PRIORITY = 10  # above plain JSON lines


def sniff(path: Path, head: bytes) -> bool:
    """JSON lines whose first record has the names of a sample; the record may be longer than the head."""
    if path.suffix.lower() not in (".jsonl", ".ndjson") or not head.lstrip().startswith(b"{"):
        return False
    try:
        record = next(_records(path), None)
    except (OSError, Unreadable):
        return False
    return isinstance(record, dict) and shape_of(record) is not None


def read(path: Path, resume: Any = None) -> Recording:
    """Says that the file holds samples, and how many of its lines are cut or broken; `samples` streams them."""
    recording = Recording(format="sample_dump", has_samples=True, resume=True, replaces=resume is not None)
    if next(samples(path), None) is None:
        raise Unreadable(path, "holds no completion", "give a dump with one JSON object per completion")
    if broken := sum(not (line.startswith(b"{") and line.endswith(b"}")) for line in _lines(path)):
        recording.damage.append(f"left out {broken} lines that are no whole JSON object; check for a killed writer")
    return recording


def samples(path: Path) -> Iterator[Sample]:
    """Every sample, one line in memory at a time. Broken lines are passed over."""
    return samples_of(_records(path), path)


def _records(path: Path) -> Iterator[Any]:
    for line in _lines(path):
        try:
            yield loads(line)
        except ValueError:
            continue


def _lines(path: Path) -> Iterator[bytes]:
    """The lines that are not blank, also a last one without a newline."""
    with open_file(path) as file:
        lines = Lines(file)
        for block in lines.blocks():
            yield from filter(None, map(bytes.strip, block.split(b"\n")))
        if last := lines.rest().strip():
            yield last
