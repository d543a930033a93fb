"""The growing end of a text file: whole lines in bounded blocks, and the place to go on from next time.

A line without its newline is still being written, so it is left for the next read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from firstbreak.readers.budget import spend
from firstbreak.readers.opening import open_file

BLOCK = 1 << 18  # fits the second-level cache: larger blocks parse more slowly
MAX_LINE = 1 << 24  # a longer "line" is a binary blob or a broken writer, and would only fill the memory
_PROBE = 4096


@dataclass(frozen=True)
class Cursor:
    """Everything before `offset` has been read as whole records; `fingerprint` tells whether it is still the same."""

    offset: int
    rows: int  #: records read so far
    fingerprint: bytes
    context: Any = None  #: what the format needs to go on: a header, open blocks


_reading: list[Lines] = []  #: the file that is being read


def reached() -> tuple[int, int] | None:
    """(bytes read, bytes in all) of the file that is being read, for who waits for it."""
    with suppress(IndexError, OSError, ValueError):
        return _reading[0].offset, os.fstat(_reading[0].file.fileno()).st_size
    return None


@dataclass
class Lines:
    """The whole lines of a file from `offset` on. `offset` follows the iteration; `skipped` counts oversized lines."""

    file: BinaryIO
    offset: int = 0
    stop: int = sys.maxsize  #: what lies here or behind it is left out
    skipped: int = 0
    unfinished: int = 0  #: bytes of the last line, which has no newline yet

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines, each ending in a newline; a carriage return before it is taken off, and ends one alone."""
        self.file.seek(self.offset)
        _reading[:] = [self]
        pieces: list[bytes] = []  # of a line that goes on over several chunks
        while chunk := self._chunk():
            # a carriage return alone ends a line too, but the last of a chunk may have its newline in the next
            end = chunk.rfind(b"\n") + 1 or chunk.rfind(b"\r", 0, len(chunk) - (len(chunk) == BLOCK)) + 1
            if end:
                block = b"".join([*pieces, chunk[:end]])
                pieces = [chunk[end:]]
                self.offset += len(block)
                yield block.replace(b"\r\n", b"\n") if b"\n" in block else block.replace(b"\r", b"\n")
            else:
                pieces.append(chunk)
                if len(pieces) * BLOCK > MAX_LINE:
                    self._skip_line(sum(map(len, pieces)))
                    pieces = []
        self.unfinished = sum(map(len, pieces))
        _reading.clear()

    def rest(self) -> bytes:
        """The unfinished last line, for formats that can tell whether it is whole. Call it after `blocks`."""
        self.file.seek(self.offset)
        return self.file.read(self.unfinished)

    def _chunk(self) -> bytes:
        spend(0)
        return self.file.read(min(BLOCK, max(0, self.stop - self.file.tell())))

    def _skip_line(self, seen: int) -> None:
        """Moves behind a line that is too long, or to the end of the file."""
        self.skipped += 1
        self.offset += seen
        while chunk := self._chunk():
            newline = chunk.find(b"\n") + 1
            if newline:
                self.offset += newline
                self.file.seek(self.offset)
                return
            self.offset += len(chunk)

    def cursor(self, rows: int, context: Any = None) -> Cursor:
        """The place behind the last whole line."""
        return Cursor(self.offset, rows, fingerprint(self.file, self.offset), context)


def line_start(file: BinaryIO, offset: int) -> int:
    """Where the first line begins that begins at an offset or behind it; the end of the file where none does."""
    if not offset:
        return 0
    file.seek(offset - 1)
    while chunk := file.read(BLOCK):
        if newline := chunk.find(b"\n") + 1:
            return file.tell() - len(chunk) + newline
    return file.tell()


def still_holds(path: Path, cursor: Any) -> Cursor | None:
    """The cursor, if the part of the file before it is what was read then; None if it was rewritten or cut."""
    if not isinstance(cursor, Cursor):
        return None
    with open_file(path) as file:
        return cursor if fingerprint(file, cursor.offset) == cursor.fingerprint else None


def fingerprint(file: BinaryIO, offset: int) -> bytes:
    """A hash of the first and the last few KiB before `offset`; of less where the file has become shorter."""
    file.seek(0)
    start = file.read(min(offset, _PROBE))
    file.seek(max(0, offset - _PROBE))
    end = file.read(min(offset, _PROBE))
    import hashlib  # OpenSSL, which not every start needs

    return hashlib.blake2b(start + end, digest_size=16).digest()
