import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.readers._crc32c import crc32c, masked


def bit_by_bit(data: bytes) -> int:
    """The definition: one shift per bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def of(*strings: bytes) -> list[int]:
    buffer = np.frombuffer(bytes(8) + b"".join(strings), np.uint8)
    ends = 8 + np.cumsum([len(s) for s in strings], dtype=int)
    starts = ends - np.array([len(s) for s in strings], dtype=int)
    return crc32c(buffer, starts, ends).tolist()


def test_check_value_of_the_standard():
    assert of(b"123456789") == [0xE3069283]


def test_masked_as_tensorflow_stores_it():
    # the mask's definition: rotate right by 15 bits, add a constant
    crc = 0xE3069283
    expected = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % (1 << 32)
    assert masked(np.array([crc], np.uint32)).tolist() == [expected]


@given(st.lists(st.binary(max_size=70), min_size=1, max_size=8))
def test_many_strings_of_any_length_at_once(strings):
    assert of(*strings) == [bit_by_bit(s) for s in strings]


def test_strings_of_several_blocks():
    rng = np.random.default_rng(0)
    sizes = (3, 255, 256, 257, 511, 512, 4097, 65_535, 65_536, 65_537, 200_001)
    strings = [rng.bytes(n) for n in sizes]
    assert of(*strings) == [bit_by_bit(s) for s in strings]


def test_no_strings():
    assert of() == []
