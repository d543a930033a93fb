"""A writer of protobuf messages and block logs, for files that the real loggers would not write."""

import json
import zlib
from collections.abc import Iterable
from typing import Any

BLOCK = 1 << 15


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def block_log(header: bytes, records: Iterable[bytes]) -> bytes:
    """LevelDB's log format, as wandb/sdk/lib/../leveldb writes it: chunks that never cross a block."""
    out = bytearray(header)
    for record in records:
        begun = False
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < 7:
                out += bytes(room)
                continue
            part, record = record[: room - 7], record[room - 7 :]
            kind = (4 if begun else 1) if not record else (3 if begun else 2)
            begun = True
            body = bytes([kind]) + part
            out += zlib.crc32(body).to_bytes(4, "little") + len(part).to_bytes(2, "little") + body
            if not record:
                break
    return bytes(out)


def wandb_item(name: str, value: Any, nested: bool = True) -> bytes:
    keys = b"".join(field(2, key) for key in name.split(".")) if nested else field(1, name)
    return field(1, keys + field(16, json.dumps(value)))


def wandb_row(step: int, values: dict[str, Any], nested: bool = True) -> bytes:
    items = b"".join(wandb_item(name, value, nested) for name, value in values.items())
    return field(2, items + field(2, field(1, step) if step else b""))


def wandb_file(rows: Iterable[bytes]) -> bytes:
    return block_log(b":W&B\xe1\xbe\x00", (field(1, number) + row for number, row in enumerate(rows, 1)))
