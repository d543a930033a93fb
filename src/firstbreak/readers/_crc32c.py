"""CRC-32C (Castagnoli) of many short byte strings at once.

The register takes in eight bytes per step by four lookups of 16 bits (slicing, as in Intel's "slicing-by-8"), for all
strings together, so that the cost per string is a few array elements rather than a Python loop. The strings are aligned
at their ends: those of equal length or not share the same steps.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected
_ONES = np.uint64(0xFFFF_FFFF)
_MASK_DELTA = np.uint32(0xA282EAD8)
_BLOCK = 4096  # longer strings are cut into blocks of this many bytes, which are then joined


def masked(crc: np.ndarray) -> np.ndarray:
    """The CRC as TFRecord files store it, so that a CRC over stored CRCs does not degenerate."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + _MASK_DELTA


def crc32c(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """uint32 (n,): the CRC of each buffer[starts[i]:ends[i]].

    `buffer` is contiguous uint8; `starts` and `ends` are int64 (n,). Strings are read in whole 8-byte words that end
    where the string does, so a string that is no multiple of 8 long needs up to 7 bytes of buffer before it.
    """
    result = np.empty(len(starts), np.uint32)
    long = ends - starts > _BLOCK
    short = np.flatnonzero(~long)
    result[short] = _registers(buffer, starts[short], ends[short]) ^ _ONES
    for i in np.flatnonzero(long):
        result[i] = _long_register(buffer, int(starts[i]), int(ends[i])) ^ 0xFFFF_FFFF
    return result


def _registers(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """uint64 (n,): the CRC register after each string, before the final inversion."""
    lengths = ends - starts
    longest_first = np.argsort(-lengths, kind="stable")
    ends, lengths = ends[longest_first], lengths[longest_first]
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))  # the eight bytes at any offset
    near, second, third, far = _tables()
    state = np.full(len(ends), _ONES)
    running = 0  # strings that have begun: the longer ones begin earlier
    for behind in range((int(lengths.max(initial=0)) - 1) // 8 * 8, -1, -8):
        begun = int(np.searchsorted(-lengths, -behind))
        word = words[ends[:begun] - behind - 8]
        word[:running] ^= state[:running]
        # A string's first word may hold foreign bytes before it. They become zeros, which leave an empty register
        # empty, and the register's initial ones go onto the string's own first four bytes.
        foreign = (8 * (behind + 8 - lengths[running:begun])).astype(np.uint64)
        word[running:] = (word[running:] >> foreign << foreign) ^ (_ONES << foreign)
        lanes = word.view("<u2").reshape(-1, 4)
        state[:begun] = (
            far.take(lanes[:, 0]) ^ third.take(lanes[:, 1]) ^ second.take(lanes[:, 2]) ^ near.take(lanes[:, 3])
        )
        state[running:begun] ^= _ONES >> (np.uint64(64) - foreign)
        running = begun
    result = np.empty_like(state)
    result[longest_first] = state
    return result


def _long_register(buffer: np.ndarray, start: int, end: int) -> int:
    """The register after one long string: its blocks are taken in together, then joined one after the other."""
    head = (end - start) % _BLOCK
    register = int(_registers(buffer, np.array([start]), np.array([start + head]))[0])
    blocks = np.arange(start + head, end, _BLOCK)
    joints, from_ones = _joints()
    for block in _registers(buffer, blocks, blocks + _BLOCK).tolist():
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
    """uint64 (65536,) each: what 16 bits add to the register when 0, 2, 4, 6 bytes follow them in the word."""
    table = np.arange(65536, dtype=np.uint64)
    for _ in range(16):
        table = (table >> np.uint64(1)) ^ (np.uint64(_POLYNOMIAL) * (table & np.uint64(1)))
    tables = [table]
    for _ in range(3):
        last = tables[-1]
        tables.append(table[last & np.uint64(0xFFFF)] ^ (last >> np.uint64(16)))
    return tables[0], tables[1], tables[2], tables[3]


@cache
def _joints() -> tuple[list[list[int]], int]:
    """What a register becomes over a block of zeros, byte by byte, and what an initial register of ones becomes.

    A register acts like the first four bytes of what follows it, so both are read off blocks that hold only those.
    """
    probes = np.zeros((4 * 256 + 1, _BLOCK), np.uint8)
    for byte in range(4):
        probes[256 * byte : 256 * (byte + 1), byte] = np.arange(256)
    starts = _BLOCK * np.arange(len(probes))
    registers = _registers(probes.ravel(), starts, starts + _BLOCK)
    from_ones = registers[-1]  # of a block of zeros
    return (registers[:-1] ^ from_ones).reshape(4, 256).tolist(), int(from_ones)
