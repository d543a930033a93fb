"""One TensorBoard event, field by field.

Formats: tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto and
tensorboard/plugins/hparams/plugin_data.proto.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firstbreak.readers._protobuf import Malformed, fields, signed, submessages, text, varint

_SESSION_START = 1
_STRING, _HALF, _BFLOAT16 = 7, 19, 14
#: TensorProto.dtype -> numpy type of one element of `tensor_content`; bfloat16 is the upper half of a float32
_DTYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", _BFLOAT16: "bfloat16",
    17: "<u2", _HALF: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
_CONTENT, _FIXED_VALUES, _VARINT_VALUES = 4, (5, 6), (7, 10, 11, 13, 16, 17)  #: TensorProto's fields for elements


@dataclass(frozen=True)
class Scalar:
    tag: str
    value: float
    at: int | None  #: where its `dtype` lies in the data; None where it is coded with a varying width
    dtype: str


@dataclass
class Event:
    wall_time: float = 0.0
    step: int = 0
    scalars: list[Scalar] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)  #: tag, text
    hparams: dict[str, Any] = field(default_factory=dict)
    starts_session: bool = False


def parse(data: bytes, start: int, end: int) -> Event:
    event = Event()
    for number, value in fields(data, start, end):
        if number == 1 and isinstance(value, slice):
            event.wall_time = _decode(data[value], "<f8")
        elif number == 2 and isinstance(value, int):
            event.step = signed(value)
        elif number == 5 and isinstance(value, slice):
            for span in submessages(data, value, 1):
                _parse_value(data, span, event)
        elif number == 7 and isinstance(value, slice):
            event.starts_session = (1, _SESSION_START) in fields(data, value.start, value.stop)
    return event


def _parse_value(data: bytes, span: slice, event: Event) -> None:
    """Adds what one Summary.Value holds to the event."""
    tag, plugin = "", b""
    simple = tensor = content = None
    for number, value in fields(data, span.start, span.stop):
        if not isinstance(value, slice):
            continue
        if number == 1:
            tag = text(data, value)
        elif number == 2:
            simple = value
        elif number == 8:
            tensor = value
        elif number == 9:
            for plugin_data in submessages(data, value, 1):
                for n, v in fields(data, plugin_data.start, plugin_data.stop):
                    if n == 1 and isinstance(v, slice):
                        plugin = data[v]
                    elif n == 2 and isinstance(v, slice):
                        content = v
    if plugin == b"hparams":
        event.hparams.update(_hparams(data, content) if content else ())
    elif simple:
        event.scalars.append(Scalar(tag, _decode(data[simple], "<f4"), simple.start, "<f4"))
    elif tensor:
        _parse_tensor(data, tensor, tag, event)


def _parse_tensor(data: bytes, span: slice, tag: str, event: Event) -> None:
    """Adds a rank-0 number as a scalar and strings as a text; tensors of higher rank are no scalars."""
    kind = rank = 0
    element: int | slice | None = None
    strings: list[str] = []
    for number, value in fields(data, span.start, span.stop):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2 and isinstance(value, slice):
            rank = sum(1 for _ in submessages(data, value, 2))
        elif number == 8 and isinstance(value, slice):
            strings.append(text(data, value))
        elif number in (_CONTENT, *_FIXED_VALUES) and isinstance(value, slice):
            element = value
        elif number in _VARINT_VALUES:
            element = value if isinstance(value, int) else next(_packed(data, value), None)
    dtype = _DTYPES.get(kind)
    if kind == _STRING:
        event.texts.append((tag, "\n".join(strings)))
    elif rank == 0 and dtype is not None:
        if isinstance(element, slice):
            event.scalars.append(Scalar(tag, _decode(data[element], dtype), element.start, dtype))
        else:  # an element that is left out is zero
            event.scalars.append(Scalar(tag, _from_varint(element or 0, kind), None, dtype))


def _hparams(data: bytes, span: slice) -> Iterator[tuple[str, Any]]:
    """The options in HParamsPluginData.session_start_info.hparams, a map of string to google.protobuf.Value."""
    for session in submessages(data, span, 3):
        for entry in submessages(data, session, 1):
            name = "".join(text(data, key) for key in submessages(data, entry, 1))
            for value in submessages(data, entry, 2):
                for kind, content in fields(data, value.start, value.stop):
                    if isinstance(content, int):
                        yield name, bool(content) if kind == 4 else None
                    elif kind in (2, 3):
                        yield name, _decode(data[content], "<f8") if kind == 2 else text(data, content)


def _packed(data: bytes, span: slice) -> Iterator[int]:
    at = span.start
    while at < span.stop:
        value, at = varint(data, at, span.stop)
        yield value


def _from_varint(value: int, kind: int) -> float:
    """The number of an integer field; half-precision numbers are stored there as their bits."""
    if kind in (_HALF, _BFLOAT16):
        return _decode((value & 0xFFFF).to_bytes(2, "little"), _DTYPES[kind])
    return float(value if kind in (22, 23) else signed(value))


def _decode(element: bytes, dtype: str) -> float:
    width = width_of(dtype)
    if len(element) < width:
        raise Malformed("a number is cut short")
    return float(numbers(np.frombuffer(element[:width], np.uint8)[np.newaxis], dtype)[0])


def width_of(dtype: str) -> int:
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def numbers(elements: np.ndarray, dtype: str) -> np.ndarray:
    """float64 (n,) from the bytes (n, width) of elements of type `dtype`."""
    raw = np.ascontiguousarray(elements)
    if dtype == "bfloat16":
        return (raw.view("<u2")[:, 0].astype("<u4") << 16).view("<f4").astype(np.float64)
    return raw.view(dtype)[:, 0].astype(np.float64)
