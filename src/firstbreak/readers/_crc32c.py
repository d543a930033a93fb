"""CRC-32C (Castagnoli) of many byte strings at once.

The register takes in eight bytes per step by four lookups of 16 bits ("slicing"), for all strings of as many words
together, so that the cost per short string is a few array elements rather than a Python loop. Longer strings are cut
into blocks, whose registers are found in the same way and then joined.
"""

from functools import cache

import numpy as np

_POLYNOMIAL = np.uint32(0x82F63B78)  # reflected
_ONES = np.uint64(0xFFFF_FFFF)
_MASK_DELTA = np.uint32(0xA282EAD8)
_BLOCKS = (16, 8)  # binary logarithms of the sizes of blocks in bytes, the largest first
_TOGETHER = 1 << 14  # strings that are worked on at once: as many as stay in the cache


def masked(crc: np.ndarray) -> np.ndarray:
    """The CRC as TFRecord files store it, so that a CRC over stored CRCs does not degenerate."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + _MASK_DELTA


def crc32c(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """uint32 (n,): the CRC of each buffer[starts[i]:ends[i]].

    `buffer` is contiguous uint8; `starts` and `ends` are int64 (n,). Strings are read in whole 8-byte words that end
    where the string does, so a string that is no multiple of 8 long needs up to 7 bytes of buffer before it.
    """
    return ~_registers(buffer, starts, ends, _BLOCKS)


def _registers(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray, blocks: tuple[int, ...]) -> np.ndarray:
    """uint32 (n,): the CRC register after each string, before the final inversion."""
    if not blocks:
        return _registers_of_short(buffer, starts, ends)
    size, smaller = 1 << blocks[0], blocks[1:]
    counts = (ends - starts) // size
    registers = _registers(buffer, starts, ends - counts * size, smaller)  # what does not fill a block comes first
    long = np.flatnonzero(counts)
    if len(long):
        behind = np.cumsum(counts[long])  # blocks up to the end of each string, over all strings
        numbers = np.arange(behind[-1]) - np.repeat(behind, counts[long])
        block_starts = np.repeat(ends[long], counts[long]) + numbers * size
        joint = _joint(blocks[0])
        # The register is linear but for its initial ones, which are taken off the block and left to the string.
        added = _registers(buffer, block_starts, block_starts + size, smaller) ^ _apply(joint, np.array([_ONES]))
        first = behind - counts[long]
        for number in range(int(counts.max())):
            going_on = np.flatnonzero(counts[long] > number)
            strings = long[going_on]
            registers[strings] = _apply(joint, registers[strings]) ^ added[first[going_on] + number]
    return registers


def _registers_of_short(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    registers = np.full(len(starts), _ONES, np.uint32)
    words = (ends - starts + 7) // 8
    for count in np.flatnonzero(np.bincount(words[words > 0])):
        of_count = np.flatnonzero(words == count)
        # The bytes up to the end of each string, from up to seven bytes before its start.
        windows = np.ndarray((len(buffer) - 8 * count + 1, 8 * count), np.uint8, buffer, strides=(1, 1))
        for at in range(0, len(of_count), _TOGETHER):
            rows = of_count[at : at + _TOGETHER]
            block = windows[ends[rows] - 8 * count].view("<u8")
            registers[rows] = _register_of_words(block, 8 * count - (ends[rows] - starts[rows]))
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


def _remainders(bits: int) -> np.ndarray:
    """uint32 (2**bits,): the register after `bits` bits, by their value."""
    table = np.arange(1 << bits, dtype=np.uint32)
    for _ in range(bits):
        table = (table >> np.uint32(1)) ^ (_POLYNOMIAL * (table & np.uint32(1)))
    return table


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """uint32 (65536,) each: what 16 bits add to the register when 0, 2, 4, 6 bytes follow them in the word."""
    tables = [_remainders(16)]
    for _ in range(3):
        tables.append(tables[0][tables[-1] & np.uint32(0xFFFF)] ^ (tables[-1] >> np.uint32(16)))
    return tables[0], tables[1], tables[2], tables[3]


@cache
def _joint(doublings: int) -> np.ndarray:
    """uint32 (4, 256): what each byte of a register becomes over 2**doublings bytes of zeros."""
    if doublings:
        half = _joint(doublings - 1)
        return _apply(half, half)
    value = np.arange(256, dtype=np.uint32)
    return np.stack([_remainders(8), *(value << np.uint32(8 * byte) for byte in range(3))])


def _apply(joint: np.ndarray, register: np.ndarray) -> np.ndarray:
    """What registers of any shape become over the zeros that the joint stands for."""
    a, b, c, d = (joint[byte][register >> np.uint32(8 * byte) & np.uint32(255)] for byte in range(4))
    return np.asarray(a ^ b ^ c ^ d)
