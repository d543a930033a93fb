"""TensorBoard event files, as written by TensorBoard itself, TensorFlow, torch.utils.tensorboard and tensorboardX.

Most events of a file differ from an earlier one in three numbers only: wall time, step and value. The first of its kind
is parsed field by field and kept as a `_Layout`; the events that repeat its other bytes exactly are then read in one
numpy operation. Whatever fits no layout is parsed one by one, so the layouts are a matter of speed alone.

Formats: tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto,
tensorboard/plugins/hparams/plugin_data.proto.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._crc32c import crc32c
from firstbreak.readers._json import loads
from firstbreak.readers._options import flat
from firstbreak.readers._options import value as option
from firstbreak.readers._protobuf import Malformed, fields, signed, submessages, text, varint
from firstbreak.readers._tail import Cursor, fingerprint, open_file, still_holds
from firstbreak.readers._tfrecord import Batch, Records, every

DESCRIPTION = "TensorBoard event file (TensorBoard, TensorFlow, torch.utils.tensorboard, tensorboardX)"

_NAME = re.compile(r"tfevents\.(\d+)\.(?:.*?\.(\d+)(?=\.v2|$))?")
_SESSION_START = 1
_CONFIG_TAGS = frozenset({"args", "hyperparameters", "hparams", "config"})  #: texts whose keys are options as they are
_LAYOUTS_PER_BUCKET = 4  # more means that something other than wall time, step and value changes all the time
_RECOPY = "copy the file again from the machine that wrote it"

_STRING, _HALF, _BFLOAT16 = 7, 19, 14
#: TensorProto.dtype -> numpy type of one element of `tensor_content`; bfloat16 is the upper half of a float32
_DTYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", _BFLOAT16: "bfloat16",
    17: "<u2", _HALF: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
_CONTENT, _FIXED_VALUES, _VARINT_VALUES = 4, (5, 6), (7, 10, 11, 13, 16, 17)  #: TensorProto's fields for elements


def sniff(path: Path, head: bytes) -> bool:
    """Event files carry "tfevents" in their name; a renamed one still begins with its version record."""
    return "tfevents" in path.name or b"brain.Event:" in head[:64]


def read(path: Path, resume: Any = None) -> Recording:
    """Every scalar as it was logged, with step and wall time; hyperparameters from the text and hparams plugins."""
    cursor = still_holds(path, resume)
    events = _Events()
    with open_file(path) as file:
        records = Records(file, cursor.offset if cursor else 0)
        for batch in records.batches():
            events.take(batch)
        if records.lost_from == 0:
            raise Unreadable(path, "holds no event records", "give an events.out.tfevents.* file")
        position = Cursor(records.offset, 0, fingerprint(file, records.offset))
    return Recording(
        format="tensorboard",
        curves=events.curves(),
        indexed_by="step",
        config=events.config,
        order=_creation_time(path.name),
        restarts_at=events.restarts_at,
        damage=_damage(records, events.malformed),
        notes=_notes(records),
        resume=position,
        replaces=resume is not None and cursor is None,
    )


def _creation_time(name: str) -> float:
    """Unix seconds from `events.out.tfevents.<seconds>.<host>.<pid>.<n>`, with n as thousandths; 0 without them."""
    match = _NAME.search(name)
    return float(match[1]) + min(int(match[2] or 0), 999) / 1000 if match else 0.0


def _damage(records: Records, malformed: int) -> list[str]:
    damage = []
    if bad := records.bad_payloads:
        places = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        damage.append(f"byte {places}: left out {len(bad)} of the records, whose checksum is wrong; {_RECOPY}")
    damage += [f"byte {a}: {b - a} bytes hold no event record and were left out; {_RECOPY}" for a, b in records.gaps]
    if records.lost_from is not None:
        lost = records.unfinished
        damage.append(f"byte {records.lost_from}: the last {lost} bytes hold no event record; {_RECOPY}")
    if malformed:
        damage.append(f"left out {malformed} of the records, which hold no TensorBoard event; {_RECOPY}")
    return damage


def _notes(records: Records) -> list[str]:
    if not records.unfinished or records.lost_from is not None:
        return []
    return [f"byte {records.offset}: the last record is incomplete (still being written, or cut off)"]


# --- one event -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scalar:
    tag: str
    value: float
    at: int | None  #: where its `dtype` lies in the data; None where it is coded with a varying width
    dtype: str


@dataclass
class _Event:
    wall_time: float = 0.0
    step: int = 0
    scalars: list[_Scalar] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)  #: tag, text
    hparams: dict[str, Any] = field(default_factory=dict)
    starts_session: bool = False


def _parse_event(data: bytes, start: int, end: int) -> _Event:
    event = _Event()
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


def _parse_value(data: bytes, span: slice, event: _Event) -> None:
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
        event.scalars.append(_Scalar(tag, _decode(data[simple], "<f4"), simple.start, "<f4"))
    elif tensor:
        _parse_tensor(data, tensor, tag, event)


def _parse_tensor(data: bytes, span: slice, tag: str, event: _Event) -> None:
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
            event.scalars.append(_Scalar(tag, _decode(data[element], dtype), element.start, dtype))
        else:  # an element that is left out is zero
            event.scalars.append(_Scalar(tag, _from_varint(element or 0, kind), None, dtype))


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
    width = _width(dtype)
    if len(element) < width:
        raise Malformed("a number is cut short")
    return float(_numbers(np.frombuffer(element[:width], np.uint8)[np.newaxis], dtype)[0])


def _width(dtype: str) -> int:
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _numbers(elements: np.ndarray, dtype: str) -> np.ndarray:
    """float64 (n,) from the bytes (n, width) of elements of type `dtype`."""
    raw = np.ascontiguousarray(elements)
    if dtype == "bfloat16":
        return (raw.view("<u2")[:, 0].astype("<u4") << 16).view("<f4").astype(np.float64)
    return raw.view(dtype)[:, 0].astype(np.float64)


# --- many events -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """Everything behind wall time and step of an event whose numbers all lie at fixed places."""

    repeated: np.ndarray  #: uint8 (m,): the bytes of the event that it was learned from
    varies: np.ndarray  #: bool (m,): which of them belong to numbers
    numbers: tuple[tuple[str, slice, str], ...]  #: tag, place in `repeated`, dtype

    @classmethod
    def of(cls, event: _Event, data: bytes, start: int, end: int) -> _Layout | None:
        """The layout of an event in data[start:end]; None where one of its numbers has no fixed place."""
        numbers = tuple(
            (s.tag, slice(s.at - start, s.at - start + _width(s.dtype)), s.dtype)
            for s in event.scalars
            if s.at is not None
        )
        if len(numbers) < len(event.scalars):
            return None
        varies = np.zeros(end - start, bool)
        for _, place, _ in numbers:
            varies[place] = True
        return cls(np.frombuffer(data[start:end], np.uint8), varies, numbers)

    def match(self, data: bytes, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of data[starts:ends] repeat this layout, bool (n,), and the bytes of those, uint8 (k, m)."""
        size = len(self.repeated)
        matches = ends - starts == size
        windows = np.ndarray((len(data) - size + 1, size), np.uint8, data, strides=(1, 1))[starts[matches]]
        same = ((windows == self.repeated) | self.varies).all(axis=1)
        matches[matches] = same
        return matches, windows if same.all() else windows[same]


@dataclass
class _Heads:
    """What the events of a batch begin with, for those that begin with wall time, step and a summary; arrays (n,)."""

    rows: np.ndarray  #: place in the batch
    wall_times: np.ndarray
    steps: np.ndarray
    rest: np.ndarray  #: offset behind wall time and step
    buckets: np.ndarray  #: uint16: equal for events whose first tag and length are equal, rarely for others


def _heads(batch: Batch) -> _Heads:
    data, starts, ends = batch.data, batch.starts, batch.ends
    byte = np.frombuffer(data, np.uint8)
    has_step = byte[starts + 9] == 0x10  # step 0 is left out
    steps, width = _varints(every(data, "<u8")[starts + 10])
    rest = starts + 9 + np.where(has_step, 1 + width, 0)
    summary = rest
    value = summary + 2 + (byte[summary + 1] >= 0x80)  # a length takes one byte, or two from 128 on
    tag = value + 2 + (byte[value + 1] >= 0x80)
    tag_end = tag + 2 + byte[tag + 1]
    rows = np.flatnonzero(
        (byte[starts] == 0x09)
        & ~(has_step & (width == 0))
        & (byte[summary] == 0x2A)
        & (byte[value] == 0x0A)
        & (byte[tag] == 0x0A)
        & (byte[tag + 1] < 0x80)
        & (tag_end <= ends)
    )
    return _Heads(
        rows=rows,
        wall_times=every(data, "<f8")[starts[rows] + 1],
        steps=np.where(has_step, steps, 0)[rows],
        rest=rest[rows],
        buckets=crc32c(byte, rest[rows], tag_end[rows]).astype(np.uint16),
    )


def _varints(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and widths in bytes, int64 (n,), of varints in 8-byte words; width 0 where one is longer than its word."""
    u8 = np.uint64
    stop = ~words & u8(0x8080808080808080)
    stop &= ~stop + u8(1)  # the lowest set bit: the top bit of the varint's last byte
    x = words & (stop - u8(1)) & u8(0x7F7F7F7F7F7F7F7F)
    x = (x & u8(0x007F007F007F007F)) | ((x & u8(0x7F007F007F007F00)) >> u8(1))
    x = (x & u8(0x00003FFF00003FFF)) | ((x & u8(0x3FFF00003FFF0000)) >> u8(2))
    x = (x & u8(0x000000000FFFFFFF)) | ((x & u8(0x0FFFFFFF00000000)) >> u8(4))
    return x.astype(np.int64), np.frexp(stop.astype(np.float64))[1].astype(np.int64) // 8


@dataclass
class _Points:
    """Points of one tag within a batch, arrays (n,); `rows` tells where their events stand in it."""

    rows: np.ndarray
    steps: np.ndarray
    values: np.ndarray
    wall_times: np.ndarray

    def __getitem__(self, keep: np.ndarray) -> _Points:
        return _Points(self.rows[keep], self.steps[keep], self.values[keep], self.wall_times[keep])

    @classmethod
    def in_file_order(cls, pieces: list[_Points]) -> _Points:
        if len(pieces) == 1:
            return pieces[0]
        rows, steps, values, walls = (
            np.concatenate(arrays)
            for arrays in zip(*((p.rows, p.steps, p.values, p.wall_times) for p in pieces), strict=True)
        )
        return cls(rows, steps, values, walls)[np.argsort(rows, kind="stable")]


class _Events:
    """Curves and config, gathered batch by batch."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self.malformed = 0
        self.restarts_at: float | None = None
        self._layouts: dict[int, list[_Layout]] = defaultdict(list)
        self._curves: dict[str, list[Curve]] = defaultdict(list)
        self._texts: set[str] = set()

    def curves(self) -> dict[str, Curve]:
        """The curves in order of first appearance. Their pieces are given up on the way, to save memory."""
        return {tag: _joined(self._curves.pop(tag)) for tag in list(self._curves)}

    def take(self, batch: Batch) -> None:
        """Adds the events of one batch."""
        found: dict[str, list[_Points]] = defaultdict(list)
        heads = _heads(batch)
        odd = np.ones(len(batch.starts), bool)
        odd[heads.rows] = False
        order = np.argsort(heads.buckets, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(heads.buckets[order])) + 1):
            odd[heads.rows[self._take_alike(batch, heads, members, found)]] = True
        restarts = self._take_odd(batch, np.flatnonzero(odd), found)
        for _, step in restarts:
            self._void(step)
        merged = {tag: _Points.in_file_order(pieces) for tag, pieces in found.items()}
        for tag, points in sorted(merged.items(), key=lambda item: int(item[1].rows[0])):
            for row, step in restarts:
                points = points[(points.rows > row) | (points.steps < step)]
            self._curves[tag].append(Curve(index=points.steps, values=points.values, times=points.wall_times))

    def _take_alike(
        self, batch: Batch, heads: _Heads, members: np.ndarray, found: dict[str, list[_Points]]
    ) -> np.ndarray:
        """Adds those events of one bucket that fit a layout; returns the others."""
        if not len(members):
            return members
        layouts = self._layouts[int(heads.buckets[members[0]])]
        tried = 0
        while len(members):
            if tried == len(layouts):
                layout = self._learn(batch, heads, members[0]) if tried < _LAYOUTS_PER_BUCKET else None
                if layout is None:
                    break
                layouts.append(layout)
            fits, windows = layouts[tried].match(batch.data, heads.rest[members], batch.ends[heads.rows[members]])
            fitting = members[fits]
            rows, steps, walls = heads.rows[fitting], heads.steps[fitting].astype(float), heads.wall_times[fitting]
            if len(fitting):
                for tag, place, dtype in layouts[tried].numbers:
                    found[tag].append(_Points(rows, steps, _numbers(windows[:, place], dtype), walls))
            members = members[~fits]
            tried += 1
        return members

    def _learn(self, batch: Batch, heads: _Heads, member: int) -> _Layout | None:
        row, rest = heads.rows[member], int(heads.rest[member])
        end = int(batch.ends[row])
        try:
            event = _parse_event(batch.data, int(batch.starts[row]), end)
        except Malformed:
            return None
        self._note(event)
        return _Layout.of(event, batch.data, rest, end)

    def _take_odd(self, batch: Batch, rows: np.ndarray, found: dict[str, list[_Points]]) -> list[tuple[int, float]]:
        """Adds events one by one; returns (row, step) of those that void the later steps of what stands before them."""
        points: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
        restarts = []
        for row in rows.tolist():
            try:
                event = _parse_event(batch.data, int(batch.starts[row]), int(batch.ends[row]))
            except Malformed:
                self.malformed += 1
                continue
            self._note(event)
            for scalar in event.scalars:
                points[scalar.tag].append((row, event.step, scalar.value, event.wall_time))
            if event.starts_session:
                restarts.append((row, float(event.step)))
        for tag, cells in points.items():
            found[tag].append(_Points(*np.array(cells).T))
        return restarts

    def _void(self, step: float) -> None:
        """A writer that goes on from a checkpoint declares everything from its step on as void (purge_step)."""
        self.restarts_at = step if self.restarts_at is None else min(step, self.restarts_at)
        for pieces in self._curves.values():
            for i, piece in enumerate(pieces):
                pieces[i] = _where(piece, piece.index < step)

    def _note(self, event: _Event) -> None:
        """Takes the hyperparameters out of an event's texts and hparams; of texts that repeat, out of the first."""
        for tag, content in event.texts:
            if tag not in self._texts:
                self._texts.add(tag)
                self.config.update(_config_in_text(tag.removesuffix("/text_summary"), content))
        self.config.update(event.hparams)


def _joined(pieces: list[Curve]) -> Curve:
    return Curve(
        index=np.concatenate([p.index for p in pieces]),
        values=np.concatenate([p.values for p in pieces]),
        times=np.concatenate([p.times for p in pieces if p.times is not None]),
    )


def _where(curve: Curve, keep: np.ndarray) -> Curve:
    assert curve.times is not None
    return Curve(index=curve.index[keep], values=curve.values[keep], times=curve.times[keep])


# --- hyperparameters -------------------------------------------------------------------------------------------------


def _config_in_text(tag: str, content: str) -> Mapping[str, Any]:
    """The options in a text: a JSON object (transformers) or a markdown table of names and values (CleanRL)."""
    options = _json_options(content) if content.lstrip().startswith("{") else dict(_table_options(content))
    return {name if tag in _CONFIG_TAGS else f"{tag}.{name}": value for name, value in options.items()}


def _json_options(content: str) -> dict[str, Any]:
    try:
        return flat(loads(content))
    except ValueError:
        return {}


def _table_options(content: str) -> Iterator[tuple[str, Any]]:
    rows = [line.strip() for line in content.splitlines()]
    if len(rows) < 3 or not re.fullmatch(r"\|[\s:-]+\|[\s:-]+\|?", rows[1]):
        return
    for row in rows[2:]:
        name, _, value = row.removeprefix("|").partition("|")
        if name.strip():
            yield name.strip(), option(value.strip().removesuffix("|").strip())
