"""The block log that wandb and SwanLab write: LevelDB's log format with a file header and zlib's CRC-32.

The file is cut into blocks of 32 KiB, counted from its first byte. A record lies in one chunk (FULL) or in several
(FIRST, MIDDLE ..., LAST), none of which crosses a block: `u32 crc of type and data | u16 length | u8 type | data`.
Fewer than seven bytes left in a block are padding.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from firstbreak.readers.budget import spend

FILE_HEADER = 7  #: bytes: an identifier of four, a magic number of two, a version
_BLOCK = 1 << 15
_HEADER = 7
_TRIES = 512  #: beginnings of chunks that are tried in a damaged block
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_CRC_OF_TYPE = [zlib.crc32(bytes([kind])) for kind in range(256)]


@dataclass
class BlockLog:
    """The records of an open file from `offset` on. After the iteration `offset` is where the next read goes on."""

    file: BinaryIO
    offset: int = FILE_HEADER
    bad: list[int] = field(default_factory=list)  #: offsets of damaged chunks
    unfinished: int = 0  #: bytes behind the last whole record

    def records(self) -> Iterator[bytes]:
        """Every record whose chunks are all there and valid."""
        parts: list[bytes] = []
        size = self.file.seek(0, 2)
        start = self.offset - self.offset % _BLOCK
        self.file.seek(start)
        at = self.offset - start
        while at < len(block := self.file.read(_BLOCK)):
            spend(0)
            while at + _HEADER <= len(block):
                end = _end(block, at)
                if not _valid(block, at, end):
                    if block.count(0, at) == len(block) - at:
                        break  # space that the file system set aside
                    found = _next(block, at + 1)
                    if found is None and len(block) < end <= _BLOCK:
                        break  # its end has not been written yet
                    self.bad.append(start + at)
                    parts = []
                    at = _BLOCK if found is None else found
                    continue
                kind, data, at = block[at + 6], block[at + _HEADER : end], end
                if kind in (_FULL, _FIRST):
                    parts = [data]
                elif parts:
                    parts.append(data)
                if kind in (_FULL, _LAST):
                    self.offset = start + at
                    if parts:
                        yield b"".join(parts)
                    parts = []
            start, at = start + _BLOCK, 0
        self.unfinished = size - self.offset

    @property
    def cut(self) -> bool:
        """Whether nothing whole follows the last damaged record."""
        return bool(self.bad) and self.bad[-1] >= self.offset

    def damage(self) -> list[str]:
        """What was lost, in the words of Recording.damage."""
        if not self.bad:
            return []
        places = ", ".join(map(str, self.bad[:5])) + (", ..." if len(self.bad) > 5 else "")
        return [f"byte {places}: left out {len(self.bad)} damaged records; copy the file again from its machine"]

    def notes(self) -> list[str]:
        """What is not whole yet, in the words of Recording.notes."""
        if not self.unfinished:
            return []
        return [f"the last {self.unfinished} bytes are an unfinished record (still being written, or cut off)"]


def _end(block: bytes, at: int) -> int:
    """Where the chunk at `at` says that it ends."""
    return at + _HEADER + int.from_bytes(block[at + 4 : at + 6], "little")


def _next(block: bytes, first: int) -> int | None:
    """Where the next whole chunk begins, at `first` or behind it."""
    kinds = np.frombuffer(block, np.uint8)[first + 6 :]
    may_begin = np.flatnonzero((kinds >= _FULL) & (kinds <= _LAST))[:_TRIES] + first
    return next((at for at in may_begin.tolist() if _valid(block, at, _end(block, at))), None)


def _valid(block: bytes, at: int, end: int) -> bool:
    if at + _HEADER > len(block) or end > len(block):
        return False
    crc = zlib.crc32(block[at + _HEADER : end], _CRC_OF_TYPE[block[at + 6]])
    return crc == int.from_bytes(block[at : at + 4], "little")
