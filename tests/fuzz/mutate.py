"""Random damage to bytes, from a seeded generator, so that every input can be made again."""

import random
from collections.abc import Callable

#: What formats are made of: separators, brackets, quotes, extreme numbers, broken text.
TOKENS = (
    *(bytes([byte]) for byte in b",;\t\n\r\"'{}[]()<>:=|#&*!-\\/%\0\xff\x80"),
    *(b"nan", b"inf", b"-inf", b"NaN", b"null", b"None", b"True", b"1e999", b"-0.0", b"9" * 400, b"0x10", b"1_0", b"."),
    *(
        b"\r\n",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b'""',
        b"''",
        b"[[",
        b"}}",
        b"<<: *a",
        b"!!python/name:x ",
    ),
    *(b"step", b"Step 1", b"step:1 - ", b"<table><tr><td>", b"%|", b" | ", "│".encode(), "•".encode(), b"{'a':", b"#{"),
    *(b"\x00" * 8, b"\xff" * 8, b"\x00\x00\x00\x80", b"PK\x03\x04", b"\x93NUMPY"),
)

Mutation = Callable[[random.Random, bytearray, bytes], bytearray]


def flip(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Flips a few bits."""
    for _ in range(rng.randint(1, 8)):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def overwrite(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Writes a token over what was there."""
    token = rng.choice(TOKENS)
    start = rng.randint(0, len(data))
    data[start : start + len(token)] = token
    return data


def insert(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Puts a token in between, sometimes many times."""
    start = rng.randint(0, len(data))
    data[start:start] = rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 50))
    return data


def truncate(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Cuts the end off: what a killed writer leaves."""
    return data[: rng.randint(0, len(data))]


def remove(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Takes a part out."""
    start = rng.randint(0, len(data))
    del data[start : start + rng.randint(1, 20)]
    return data


def repeat(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Writes a part twice."""
    start = rng.randint(0, len(data))
    part = data[start : start + rng.randint(1, 60)]
    data[start:start] = part
    return data


def splice(rng: random.Random, data: bytearray, other: bytes) -> bytearray:
    """Goes on with another file: two writers in one file."""
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


MUTATIONS: tuple[Mutation, ...] = (flip, overwrite, insert, truncate, remove, repeat, splice)


def mutate(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """One to four kinds of damage."""
    mutant = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        mutant = rng.choice(MUTATIONS)(rng, mutant, other)
    return bytes(mutant)
