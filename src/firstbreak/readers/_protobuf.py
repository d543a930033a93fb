"""The protobuf wire format, as far as log files need it: fields by number, without generated classes."""

from collections.abc import Callable, Iterator, Mapping

_FIXED_WIDTH = {1: 8, 5: 4}


class Malformed(ValueError):
    """The bytes are no protobuf message."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned varint at `at` and the offset behind it."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise Malformed("a varint does not end")


def signed(value: int) -> int:
    """An int64 field, which is on the wire as its two's complement."""
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int | slice]]:
    """(field number, value) of the message in data[start:end]: an int for a varint, else the slice of its bytes."""
    at = start
    while at < end:
        key = data[at]  # most varints are one byte long, and most of the time goes into reading them
        at += 1
        if key >= 0x80:
            key, at = varint(data, at - 1, end)
        number, wire = key >> 3, key & 7
        if wire == 2 and at < end and data[at] < 0x80:
            width = data[at]
            at += 1
        elif wire == 2:
            width, at = varint(data, at, end)
        elif wire == 0:
            value, at = varint(data, at, end)
            yield number, value
            continue
        elif wire in _FIXED_WIDTH:
            width = _FIXED_WIDTH[wire]
        else:
            raise Malformed(f"wire type {wire} is not in use")
        if width > end - at:
            raise Malformed("a field is longer than its message")
        yield number, slice(at, at + width)
        at += width


def submessages(data: bytes, span: slice, number: int) -> Iterator[slice]:
    """The spans of every field `number` of the message in `span`."""
    return (value for n, value in fields(data, span.start, span.stop) if n == number and isinstance(value, slice))


def first_int(data: bytes, span: slice, number: int = 1) -> int:
    """The first integer field `number` of the message in `span`; zero is left out on the wire."""
    return next((v for n, v in fields(data, span.start, span.stop) if n == number and isinstance(v, int)), 0)


def text(data: bytes, span: slice) -> str:
    """A string field; bytes that are not UTF-8 become U+FFFD."""
    return data[span].decode("utf-8", "replace")


class Records:
    """Records in: what a record holds in a field is taken by the function of its number in `takes`."""

    takes: Mapping[int, Callable[[bytes, slice], None]]
    malformed = 0  #: records or parts of them that their writer does not write

    def take(self, record: bytes) -> None:
        """Adds one record."""
        try:
            for number, value in fields(record, 0, len(record)):
                if isinstance(value, slice) and number in self.takes:
                    self.takes[number](record, value)
        except Malformed:
            self.malformed += 1
