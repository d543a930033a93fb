"""What a trainer writes: rows of names and numbers, in the file format of a public trainer."""

from __future__ import annotations

import csv
import json
import struct
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers._crc32c import crc32c, masked
from firstbreak_lab.drawn import BrokenMechanism

Row = dict[str, float]
EPOCH = 1.7e9  #: unix seconds at which every run begins


class Log:
    """Numbers are kept under a trainer's own names until they are dumped as one row."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._pending: defaultdict[str, list[float]] = defaultdict(list)

    def record(self, numbers: Mapping[str, float]) -> None:
        """Keep the numbers; the row has the mean of all since the last one, as in TRL."""
        for name, number in numbers.items():
            self._pending[name].append(float(number))

    def keep(self, numbers: Mapping[str, float]) -> None:
        """Keep the last number of each name, as in Stable-Baselines3."""
        self._pending.update({name: [float(number)] for name, number in numbers.items()})

    def dump(self, **also: float) -> None:
        """Write the row."""
        means = {name: sum(numbers) / len(numbers) for name, numbers in self._pending.items()}
        self.rows.append(means | {name: float(number) for name, number in also.items()})
        self._pending.clear()


class Clock:
    """A machine on which work takes time, with jitter. While the fault acts, it takes as many times longer."""

    def __init__(self, rng: np.random.Generator, broken: BrokenMechanism, speed: float) -> None:
        self.rng, self.broken, self.speed, self.now = rng, broken, speed, 0.0

    def work(self, amount: float) -> float:
        """The seconds that this amount of work takes."""
        slow = self.broken("rollout-worker-slow", 1.0)
        seconds = amount / self.speed * slow * float(self.rng.lognormal(0.0, 0.08))
        self.now += seconds
        return seconds

    def evaluation(self, amount: float, samples: int) -> Row:
        """What the Trainer in transformers logs of the time of an evaluation."""
        seconds = self.work(amount)
        rates = {"eval_samples_per_second": samples / seconds, "eval_steps_per_second": samples / 8 / seconds}
        return {"eval_runtime": seconds} | {name: round(rate, 3) for name, rate in rates.items()}


def write(rows: list[Row], trainer: str, folder: Path) -> None:
    """Write the log of a run into its folder, in the format of its trainer."""
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[trainer](rows, folder)


def trainer_state(rows: list[Row], folder: Path) -> None:
    """TRL: `trainer_state.json` of the Trainer in transformers."""
    history = [{**row, "step": int(row["step"])} for row in rows]
    last = history[-1] if history else {"step": 0, "epoch": 0.0}
    state = {"epoch": last.get("epoch"), "global_step": last["step"], "max_steps": last["step"]}
    (folder / "trainer_state.json").write_text(json.dumps(state | {"log_history": history}, indent=1) + "\n")


def progress_csv(rows: list[Row], folder: Path) -> None:
    """Stable-Baselines3: `progress.csv` of its logger. A name that a row lacks is an empty cell."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    whole = {
        "time/total_timesteps",
        "time/iterations",
        "time/episodes",
        "time/time_elapsed",
        "train/n_updates",
        "time/fps",
    }
    with (folder / "progress.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow([int(row[n]) if n in whole and n in row else row.get(n, "") for n in names])


def events(rows: list[Row], folder: Path) -> None:
    """CleanRL: TensorBoard's event file. A row has `step`, `seconds` and scalars."""
    records = [_double(1, EPOCH) + _bytes(3, b"brain.Event:2")]
    for row in rows:
        head = _double(1, EPOCH + row["seconds"]) + _varint(2 << 3) + _varint(int(row["step"]))
        for name, number in row.items():
            if name not in ("step", "seconds"):
                value = _bytes(1, name.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", number)
                records.append(head + _bytes(5, _bytes(1, value)))
    (folder / f"events.out.tfevents.{EPOCH:.0f}.micro.1.0").write_bytes(_framed(records))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _double(field: int, number: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", number)


def _framed(records: list[bytes]) -> bytes:
    """TFRecord: length, its CRC, content, its CRC."""
    heads = [struct.pack("<Q", len(record)) for record in records]
    pieces = [piece for pair in zip(heads, records, strict=True) for piece in pair]
    ends = 8 + np.cumsum([len(piece) for piece in pieces])  # the checksums want bytes before the first piece
    buffer = np.frombuffer(bytes(8) + b"".join(pieces), np.uint8)
    sums = masked(crc32c(buffer, ends - [len(piece) for piece in pieces], ends))
    return b"".join(piece + struct.pack("<I", int(crc)) for piece, crc in zip(pieces, sums, strict=True))


WRITERS: Mapping[str, Any] = {"trl": trainer_state, "sb3": progress_csv, "cleanrl": events}
