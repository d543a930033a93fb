"""TFRecord framing, the container of TensorBoard event files, with every checksum checked.

A record is `u64 length | u32 masked crc32c(length) | payload | u32 masked crc32c(payload)`, little-endian.

Walking from record to record is a Python step per record, so whole stretches are found at once: payloads that begin
with the expected byte give candidate headers, a header's checksum leaves only real ones, and wherever each record ends
where the next one begins, the stretch needs no walking.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO

import numpy as np

from firstbreak.readers._crc32c import crc32c, masked
from firstbreak.readers.budget import spend

_SMALLEST_PIECE, _LARGEST_PIECE = 1 << 19, 1 << 21  # bytes; near the cache, and small beside what the file holds
_HEADER = 12
_FRAME = 16
_FIRST_BYTE = 0x09  # of an event: its wall time; records that begin otherwise are found too, one by one
_CANDIDATE_LIMIT = 1 << 16  # bytes
_LARGEST = 1 << 30  # bytes; no logger writes such a record, and it might not fit the memory
_PADDING = 64  # zero bytes behind the records of a batch, so that fixed-width views may reach past the last one


@dataclass(frozen=True)
class RecordBatch:
    """Payloads data[starts[i]:ends[i]], int64 (n,), in file order; data[0] lies at `offset` in the file."""

    data: bytes
    starts: np.ndarray
    ends: np.ndarray
    offset: int


@dataclass
class Records:
    """The records of an open file from `offset` on. After the iteration `offset` is where the next read goes on."""

    file: BinaryIO
    offset: int = 0
    bad_payloads: list[int] = field(default_factory=list)  #: offsets of records whose payload fails its checksum
    gaps: list[tuple[int, int]] = field(default_factory=list)  #: stretches [from, to) in which no record begins
    unfinished: int = 0  #: bytes behind the last record: an incomplete one, or no record at all
    lost_from: int | None = None  #: where the chain of records broke, until it is found again

    def batches(self) -> Iterator[RecordBatch]:
        """The valid records, a piece of the file at a time."""
        self.file.seek(0, 2)
        size = self.file.tell()
        self.file.seek(self.offset)
        piece = min(max(size // 16, _SMALLEST_PIECE), _LARGEST_PIECE)
        rest, wanted = b"", 0
        while fresh := self.file.read(max(piece, wanted - len(rest))):
            spend(0)
            used = len(rest) + len(fresh)
            data = b"".join((rest, fresh, bytes(_PADDING)))
            headers, lengths, consumed, wanted = self._frame(data, used)
            yield self._checked(data, headers + _HEADER, headers + _HEADER + lengths)
            rest = data[consumed:used]
            self.offset += consumed
            if self.offset + wanted > size:
                break
            if wanted > _LARGEST:
                self.gaps.append((self.offset, self.offset + wanted))
                self.offset = self.file.seek(self.offset + wanted)
                rest, wanted = b"", 0
        if self.lost_from is not None:
            self.offset = self.lost_from
        self.unfinished = size - self.offset

    def _frame(self, data: bytes, used: int) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Headers and lengths of the whole records, the bytes consumed, and the bytes that the next record needs."""
        headers, lengths = _candidates(data, used)
        nexts = headers + lengths + _FRAME
        breaks = np.append(np.flatnonzero(nexts[:-1] != headers[1:]), len(headers) - 1)
        stretches: list[tuple[np.ndarray, np.ndarray]] = []
        at, wanted = 0, _HEADER
        while used - at >= _HEADER:
            i = int(np.searchsorted(headers, at))
            if i < len(headers) and headers[i] == at:
                stop = int(breaks[np.searchsorted(breaks, i)]) + 1
                stretches.append((headers[i:stop], lengths[i:stop]))
                following = int(nexts[stop - 1])
            elif (length := _length(data, at)) is None:
                if self.lost_from is None:
                    self.lost_from = self.offset + at
                if i == len(headers):  # the next header may lie in a record that is not whole yet
                    at = max(at, used - _CANDIDATE_LIMIT - _FRAME)
                    break
                at = int(headers[i])
                continue
            elif at + length + _FRAME > used:
                wanted = length + _FRAME
                break
            else:
                stretches.append((np.array([at]), np.array([length])))
                following = at + length + _FRAME
            if self.lost_from is not None:
                self.gaps.append((self.lost_from, self.offset + at))
                self.lost_from = None
            at = following
        none = np.empty(0, np.int64)
        return (
            np.concatenate([none, *(h for h, _ in stretches)]),
            np.concatenate([none, *(n for _, n in stretches)]),
            at,
            wanted,
        )

    def _checked(self, data: bytes, starts: np.ndarray, ends: np.ndarray) -> RecordBatch:
        """The batch without the records whose payload is damaged."""
        valid = masked(crc32c(np.frombuffer(data, np.uint8), starts, ends)) == every(data, "<u4")[ends]
        if not valid.all():
            self.bad_payloads += (starts[~valid] - _HEADER + self.offset).tolist()
            starts, ends = starts[valid], ends[valid]
        return RecordBatch(data, starts, ends, self.offset)


def every(data: bytes, dtype: str) -> np.ndarray:
    """The number of type `dtype` that begins at each byte of `data`, aligned or not, as a view."""
    width = np.dtype(dtype).itemsize
    return np.ndarray((len(data) - width + 1,), dtype, data, strides=(1,))


def _candidates(data: bytes, used: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of valid headers of whole records with payloads that begin with _FIRST_BYTE, and the payload lengths.

    Only lengths below 64 KiB: metrics are short, and six zero bytes in a row rule out nearly everything else.
    """
    headers = np.flatnonzero(np.frombuffer(data, np.uint8)[_HEADER:used] == _FIRST_BYTE)
    lengths = every(data, "<u8")[headers]
    short = lengths < _CANDIDATE_LIMIT
    headers, lengths = headers[short], lengths[short].astype(np.int64)
    whole = headers + lengths + _FRAME <= used
    headers, lengths = headers[whole], lengths[whole]
    valid = every(data, "<u4")[headers + 8] == _checksums()[lengths]
    return headers[valid], lengths[valid]


@cache
def _checksums() -> np.ndarray:
    """uint32 (_CANDIDATE_LIMIT,): the header checksum that belongs to each length."""
    headers = np.arange(_CANDIDATE_LIMIT, dtype="<u8").view(np.uint8)
    starts = np.arange(0, len(headers), 8)
    return masked(crc32c(headers, starts, starts + 8))


def _length(data: bytes, at: int) -> int | None:
    """The payload length that the header at `at` declares; None where the header is damaged."""
    crc = masked(crc32c(np.frombuffer(data, np.uint8), np.array([at]), np.array([at + 8])))
    if crc[0] != int.from_bytes(data[at + 8 : at + 12], "little"):
        return None
    return int.from_bytes(data[at : at + 8], "little")
