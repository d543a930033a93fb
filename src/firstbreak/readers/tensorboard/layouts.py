"""Many TensorBoard events at once.

Most events of a file differ from an earlier one in three numbers only: wall time, step and value. The first of its kind
is parsed field by field and kept as a layout; the events that repeat its other bytes exactly are then read in a few
numpy operations, those of all layouts of one size together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firstbreak.readers._crc32c import crc32c
from firstbreak.readers._tfrecord import RecordBatch, every
from firstbreak.readers.tensorboard.event import Event, numbers, width_of

_BUCKETS = 1 << 16
_UNKNOWN, _NONE = -1, -2  #: what is known of a bucket: nothing yet, that its events have no layout


@dataclass(slots=True)
class Heads:
    """What events begin with, for those of a batch that begin with wall time, step and a summary; arrays (n,)."""

    rows: np.ndarray  #: place in the batch
    wall_times: np.ndarray
    steps: np.ndarray
    rest: np.ndarray  #: offset behind wall time and step
    ends: np.ndarray
    buckets: np.ndarray  #: uint16: the same for events of the same first tag and length, rarely for others

    def __getitem__(self, members: np.ndarray) -> Heads:
        return Heads(*(getattr(self, name)[members] for name in self.__slots__))


def heads(batch: RecordBatch) -> Heads:
    """The heads of a batch, those of one bucket together, in file order within a bucket."""
    data, starts, ends = batch.data, batch.starts, batch.ends
    byte = np.frombuffer(data, np.uint8)
    has_step = byte[starts + 9] == 0x10  # step 0 is left out
    steps, width = _varints(every(data, "<u8")[starts + 10])
    rest = starts + 9 + np.where(has_step, 1 + width, 0)
    value = rest + 2 + (byte[rest + 1] >= 0x80)  # a length takes one byte, or two from 128 on
    tag = value + 2 + (byte[value + 1] >= 0x80)
    tag_end = tag + 2 + byte[tag + 1]
    rows = np.flatnonzero(
        (byte[starts] == 0x09)
        & ~(has_step & (width == 0))
        & (byte[rest] == 0x2A)
        & (byte[value] == 0x0A)
        & (byte[tag] == 0x0A)
        & (byte[tag + 1] < 0x80)
        & (tag_end <= ends)
    )
    buckets = crc32c(byte, rest[rows], tag_end[rows]).astype(np.uint16)
    order = np.argsort(buckets, kind="stable")
    rows = rows[order]
    return Heads(
        rows=rows,
        wall_times=every(data, "<f8")[starts[rows] + 1],
        steps=np.where(has_step[rows], steps[rows], 0).astype(float),
        rest=rest[rows],
        ends=ends[rows],
        buckets=buckets[order],
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


class TagPoints(NamedTuple):
    """Points of one tag within a batch, arrays (n,); `rows` tells where their events stand in it."""

    rows: np.ndarray
    steps: np.ndarray
    values: np.ndarray
    wall_times: np.ndarray

    def where(self, keep: np.ndarray | slice) -> TagPoints:
        """The points at these places."""
        return TagPoints(*(array[keep] for array in self))


def in_file_order(pieces: list[TagPoints]) -> TagPoints:
    """The pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    joined = TagPoints(*map(np.concatenate, zip(*pieces, strict=True)))
    return joined.where(np.argsort(joined.rows, kind="stable"))


@dataclass
class _Shape:
    """Events of one size whose numbers lie at the same places; its layouts differ in the bytes around them."""

    size: int
    places: tuple[tuple[slice, str], ...]  #: where, dtype
    repeated: list[np.ndarray] = field(default_factory=list)  #: of each layout, uint8 (size,)
    tags: list[tuple[str, ...]] = field(default_factory=list)  #: of each layout, one per place

    def matching(self, data: bytes, events: Heads, layouts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which events repeat their layout, int64 (k,), and their bytes behind wall time and step, uint8 (k, size)."""
        members = np.flatnonzero(events.ends - events.rest == self.size)
        windows = np.ndarray((len(data) - self.size + 1, self.size), np.uint8, data, strides=(1, 1))
        found = windows[events.rest[members]]
        same = found == np.stack(self.repeated)[layouts[members]]
        for place, _ in self.places:
            same[:, place] = True
        fits = same.all(axis=1)
        return members[fits], found[fits]


class Layouts:
    """The layouts that have been learned, one per bucket."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, tuple[tuple[int, str], ...]], _Shape] = {}
        self._shape_of = np.full(_BUCKETS, _UNKNOWN)  #: place in _shapes, by bucket
        self._layout_of = np.zeros(_BUCKETS, int)  #: place in the shape, by bucket

    def unknown(self, events: Heads) -> np.ndarray:
        """One event of every bucket that nothing is known of yet."""
        unknown = np.flatnonzero(self._shape_of[events.buckets] == _UNKNOWN)
        return unknown[np.unique(events.buckets[unknown], return_index=True)[1]]

    def learn(self, bucket: int, event: Event | None, data: bytes, start: int, end: int) -> None:
        """Keeps the layout of an event whose bytes behind wall time and step are data[start:end].

        There is none if the event could not be parsed, or if a number has no fixed place in it.
        """
        if event is None or any(scalar.at is None for scalar in event.scalars):
            self._shape_of[bucket] = _NONE
            return
        places = tuple(
            (slice(s.at - start, s.at - start + width_of(s.dtype)), s.dtype) for s in event.scalars if s.at is not None
        )
        key = (end - start, tuple((place.start, dtype) for place, dtype in places))
        shape = self._shapes.setdefault(key, _Shape(end - start, places))
        self._shape_of[bucket] = list(self._shapes).index(key)
        self._layout_of[bucket] = len(shape.repeated)
        shape.repeated.append(np.frombuffer(data[start:end], np.uint8))
        shape.tags.append(tuple(scalar.tag for scalar in event.scalars))

    def take(self, data: bytes, events: Heads, found: dict[str, list[TagPoints]]) -> np.ndarray:
        """Adds the points of the events that repeat their layout; returns the places of those events in the batch."""
        shape_of = self._shape_of[events.buckets]
        taken = [np.empty(0, int)]
        for number, shape in enumerate(self._shapes.values()):
            alike = events[np.flatnonzero(shape_of == number)]
            layouts = self._layout_of[alike.buckets]
            members, windows = shape.matching(data, alike, layouts)
            alike, layouts = alike[members], layouts[members]
            taken.append(alike.rows)
            if not len(members):
                continue
            cuts = [0, *(np.flatnonzero(np.diff(alike.buckets)) + 1).tolist(), len(members)]
            parts = [slice(start, end) for start, end in pairwise(cuts)]
            tags = [shape.tags[layout] for layout in layouts[cuts[:-1]]]
            for i, (place, dtype) in enumerate(shape.places):
                points = TagPoints(alike.rows, alike.steps, numbers(windows[:, place], dtype), alike.wall_times)
                for tag, part in zip(tags, parts, strict=True):
                    found[tag[i]].append(points.where(part))
        return np.concatenate(taken)
