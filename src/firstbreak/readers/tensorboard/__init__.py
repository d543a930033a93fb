"""TensorBoard event files, as written by TensorBoard itself, TensorFlow, torch.utils.tensorboard and tensorboardX.

A file is a series of TFRecords, each an Event; see event.py for one and layouts.py for millions of them.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._protobuf import Malformed
from firstbreak.readers._tail import Cursor, fingerprint, still_holds
from firstbreak.readers._tfrecord import RecordBatch, Records
from firstbreak.readers.budget import NAME, POINT, spend
from firstbreak.readers.opening import open_file
from firstbreak.readers.tensorboard.event import Event, parse
from firstbreak.readers.tensorboard.layouts import Heads, Layouts, TagPoints, heads, in_file_order
from firstbreak.readers.tensorboard.options import options_in

DESCRIPTION = "TensorBoard event file (TensorBoard, TensorFlow, torch.utils.tensorboard, tensorboardX)"

_NAME = re.compile(r"tfevents\.(\d+)\.(?:.*\.\d+\.(\d+)(?=\D|$))?")  # the last <pid>.<n>; a suffix may follow
_Piece = tuple[np.ndarray, np.ndarray, np.ndarray]  # steps, values, wall times
_RECOPY = "copy the file again from the machine that wrote it"


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
        cut=records.lost_from is not None,
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


class _Events:
    """Curves and config, gathered batch by batch."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self.malformed = 0
        self.restarts_at: float | None = None
        self._layouts = Layouts()
        self._pieces: dict[str, list[_Piece]] = defaultdict(list)
        self._texts: set[str] = set()

    def curves(self) -> dict[str, Curve]:
        """The curves in order of first appearance. Their pieces are given up on the way, to save memory."""
        return {tag: _joined(self._pieces.pop(tag)) for tag in list(self._pieces)}

    def take(self, batch: RecordBatch) -> None:
        """Adds the events of one batch."""
        found: dict[str, list[TagPoints]] = defaultdict(list)
        events = heads(batch)
        for first in self._layouts.unknown(events).tolist():
            self._learn(batch, events, first)
        odd = np.ones(len(batch.starts), bool)
        odd[self._layouts.take(batch.data, events, found)] = False
        restarts = self._take_odd(batch, np.flatnonzero(odd), found)
        for _, step in restarts:
            self._void(step)
        merged = [(tag, in_file_order(pieces)) for tag, pieces in found.items()]
        for tag, points in sorted(merged, key=lambda item: int(item[1].rows[0])):
            for row, step in restarts:
                points = points.where((points.rows > row) | (points.steps < step))
            spend((POINT + 8) * len(points.rows) + (0 if tag in self._pieces else NAME))
            self._pieces[tag].append(points[1:])

    def _learn(self, batch: RecordBatch, events: Heads, number: int) -> None:
        rest, end = int(events.rest[number]), int(events.ends[number])
        try:
            event = parse(batch.data, int(batch.starts[events.rows[number]]), end)
            self._note(event)
        except Malformed:
            event = None
        self._layouts.learn(int(events.buckets[number]), event, batch.data, rest, end)

    def _take_odd(
        self, batch: RecordBatch, rows: np.ndarray, found: dict[str, list[TagPoints]]
    ) -> list[tuple[int, float]]:
        """Adds events one by one; returns (row, step) of those that void the later steps of what stands before them."""
        points: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
        restarts = []
        for row in rows.tolist():
            try:
                event = parse(batch.data, int(batch.starts[row]), int(batch.ends[row]))
            except Malformed:
                self.malformed += 1
                continue
            self._note(event)
            for scalar in event.scalars:
                points[scalar.tag].append((row, event.step, scalar.value, event.wall_time))
            if event.starts_session:
                restarts.append((row, float(event.step)))
        for tag, cells in points.items():
            found[tag].append(TagPoints(*np.array(cells).T))
        return restarts

    def _void(self, step: float) -> None:
        """A writer that goes on from a checkpoint declares everything from its step on as void (purge_step)."""
        self.restarts_at = step if self.restarts_at is None else min(step, self.restarts_at)
        for pieces in self._pieces.values():
            for i, (steps, values, wall_times) in enumerate(pieces):
                keep = steps < step
                pieces[i] = (steps[keep], values[keep], wall_times[keep])

    def _note(self, event: Event) -> None:
        """Takes the hyperparameters out of an event's texts and hparams; of texts that repeat, out of the first."""
        for tag, content in event.texts:
            if tag not in self._texts:
                self._texts.add(tag)
                self.config.update(options_in(tag.removesuffix("/text_summary"), content))
        self.config.update(event.hparams)


def _joined(pieces: list[_Piece]) -> Curve:
    steps, values, wall_times = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    return Curve(index=steps, values=values, times=wall_times)
