"""CRC-32C (Castagnoli) of many short byte strings at once.

The register takes in eight bytes per step by four lookups of 16 bits ("slicing"), for all strings of as many words
together, so that the cost per string is a few array elements rather than a Python loop.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected
_ONES = np.uint64(0xFFFF_FFFF)
_MASK_DELTA = np.uint32(0xA282EAD8)
_LONG = 4096  # bytes; longer strings are cut into blocks of as many, which are then joined
_TOGETHER = 1 << 14  # strings that are worked on at once: as many as stay in the cache


def masked(crc: np.ndarray) -> np.ndarray:
    """The CRC as TFRecord files store it, so that a CRC over stored CRCs does not degenerate."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + _MASK_DELTA


def crc32c(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """uint32 (n,): the CRC of each buffer[starts[i]:ends[i]].

    `buffer` is contiguous uint8; `starts` and `ends` are int64 (n,). Strings are read in whole 8-byte words that end
    where the string does, so a string that is no multiple of 8 long needs up to 7 bytes of buffer before it.
    """
    registers = np.empty(len(starts), np.uint32)
    long = ends - starts > _LONG
    short = np.flatnonzero(~long)
    registers[short] = _registers(buffer, starts[short], ends[short])
    for i in np.flatnonzero(long):
        registers[i] = _long_register(buffer, int(starts[i]), int(ends[i]))
    return ~registers


def _registers(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """uint32 (n,): the CRC register after each string, before the final inversion."""
    registers = np.full(len(starts), _ONES, np.uint32)
    words = (ends - starts + 7) // 8
    for count in np.flatnonzero(np.bincount(words[words > 0])):
        of_count = np.flatnonzero(words == count)
        for first in range(0, len(of_count), _TOGETHER):
            rows = of_count[first : first + _TOGETHER]
            # The bytes up to the end of each string, from up to seven bytes before its start.
            windows = np.ndarray((len(buffer) - 8 * count + 1, 8 * count), np.uint8, buffer, strides=(1, 1))
            block = windows[ends[rows] - 8 * count].view("<u8")
            registers[rows] = _register_of_words(block, 8 * count - (ends - starts)[rows])
    return registers


def _register_of_words(words: np.ndarray, foreign: np.ndarray) -> np.ndarray:
    """uint32 (n,): the register after strings in uint64 (n, k), each behind `foreign` (n,) bytes that are not its own."""
    # Foreign bytes become zeros, which leave an empty register empty, and the register's initial ones go onto the
    # string's own first four bytes, be they in the first word or in the second.
    shift = (8 * foreign).astype(np.uint64)
    first = (words[:, 0] >> shift << shift) ^ (_ONES << shift)
    register = _taken_in(first) ^ (_ONES >> (np.uint64(64) - shift)).astype(np.uint32)
    for column in words.T[1:]:
        word = column.copy()
        word.view("<u4")[::2] ^= register
        register = _taken_in(word)
    return register


def _taken_in(word: np.ndarray) -> np.ndarray:
    """uint32 (n,): the register after uint64 (n,), into which the register before has been mixed already."""
    last, third, second, first = _tables()
    lanes = word.view("<u2")
    register = first.take(lanes[0::4])
    register ^= second.take(lanes[1::4])
    register ^= third.take(lanes[2::4])
    register ^= last.take(lanes[3::4])
    return register


def _long_register(buffer: np.ndarray, start: int, end: int) -> int:
    """The register after one long string: its blocks are taken in together, then joined one after the other."""
    head = (end - start) % _LONG
    register = int(_registers(buffer, np.array([start]), np.array([start + head]))[0])
    blocks = np.arange(start + head, end, _LONG)
    joints, from_ones = _joints()
    for block in _registers(buffer, blocks, blocks + _LONG).tolist():
        register = (
            joints[0][register & 255]
            ^ joints[1][register >> 8 & 255]
            ^ joints[2][register >> 16 & 255]
            ^ joints[3][register >> 24]
            ^ block
            ^ from_ones
        )
    return register


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """uint32 (65536,) each: what 16 bits add to the register when 0, 2, 4, 6 bytes follow them in the word."""
    table = np.arange(65536, dtype=np.uint32)
    for _ in range(16):
        table = (table >> np.uint32(1)) ^ (np.uint32(_POLYNOMIAL) * (table & np.uint32(1)))
    tables = [table]
    for _ in range(3):
        tables.append(table[tables[-1] & np.uint32(0xFFFF)] ^ (tables[-1] >> np.uint32(16)))
    return tables[0], tables[1], tables[2], tables[3]


@cache
def _joints() -> tuple[list[list[int]], int]:
    """What a register becomes over a block of zeros, byte by byte, and what an initial register of ones becomes.

    A register acts like the first four bytes of what follows it, so both are read off blocks that hold only those.
    """
    probes = np.zeros((4 * 256 + 1, _LONG), np.uint8)
    for byte in range(4):
        probes[256 * byte : 256 * (byte + 1), byte] = np.arange(256)
    starts = _LONG * np.arange(len(probes))
    registers = _registers(probes.ravel(), starts, starts + _LONG)
    from_ones = registers[-1]  # of a block of zeros
    return (registers[:-1] ^ from_ones).reshape(4, 256).tolist(), int(from_ones)
