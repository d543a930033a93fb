"""How fast TensorBoard, wandb and Trackio runs are read, beside the loggers' own readers and the fastest others.

TensorBoard: 200,000 and 5,000,000 scalars of 40 tags, in one file whose bytes are those of the real writer (its first
records are compared). Every reader ends with arrays of step, value and wall time per tag. firstbreak checks every
checksum; the Rust server does only where told to. The floor reads the bytes and computes one CRC-32C over them in C.
wandb and Trackio: 20,000 rows of 20 values by the real loggers.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh_process import Timing, compare
from benchmarks.size import sized
from firstbreak.readers._crc32c import crc32c, masked

TAGS = [f"train/metric_{i:02d}/mean" for i in range(40)]
SCALARS, MANY_SCALARS = sized((200_000, 5_000_000), (2_000, 4_000))
ROWS, COLUMNS = sized(20_000, 50), 20
SLOW = frozenset({"eventaccumulator", "tbparse"})  #: minutes per run at five million scalars, so run there once

Arrays = dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
Reader = Callable[[Path], Any]


def bench_binary() -> dict[str, dict[str, Any]]:
    """`tensorboard`, `tensorboard_5m`: {<reader>_s, peak_mb, ...}; `wandb`, `trackio`: {firstbreak_s, best_s, best}."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            "tensorboard": _bench_tensorboard(Path(folder, "200k"), SCALARS),
            "tensorboard_5m": _bench_tensorboard(Path(folder, "5m"), MANY_SCALARS),
            "wandb": _bench(_write_wandb(Path(folder)), "firstbreak_wandb", "protobuf_wandb"),
            "trackio": _bench(_write_trackio(Path(folder)), "firstbreak_trackio", "trackio_trackio", "pandas_trackio"),
        }


def _bench_tensorboard(folder: Path, scalars: int) -> dict[str, Any]:
    path = write_events(folder, scalars)
    names = ("firstbreak", "eventaccumulator", "tbparse", "rust", "rust_checksum", "floor", "nothing")
    slow = SLOW if scalars > SCALARS else frozenset()
    timings = _timings([f"{name}_tensorboard" for name in names if name not in slow], path, 3)
    timings |= _timings([f"{name}_tensorboard" for name in names if name in slow], path, 1)
    _check_same(path, ("firstbreak", "rust") if slow else ("firstbreak", "eventaccumulator", "tbparse", "rust"))
    decoded = scalars * 3 * 8 / 1e6
    ours, base = timings["firstbreak_tensorboard"], timings["nothing_tensorboard"]
    return {
        **{f"{name}_s": round(timings[f"{name}_tensorboard"].seconds, 4) for name in names if name != "nothing"},
        "scalars": scalars,
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "decoded_mb": round(decoded, 1),
        "peak_mb": round(ours.peak_mb - base.peak_mb, 1),
        "peak_over_decoded": round((ours.peak_mb - base.peak_mb) / decoded, 2),
        "runs_per_reader": {"others": 3, **dict.fromkeys(sorted(slow), 1)},
    }


def _bench(path: Path, ours: str, *peers: str) -> dict[str, Any]:
    timings = _timings([ours, *peers], path, 3)
    best = min(peers, key=lambda name: timings[name].seconds)
    return {
        "firstbreak_s": round(timings[ours].seconds, 4),
        "best_s": round(timings[best].seconds, 4),
        "best": best.partition("_")[0],
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "all_s": {name.partition("_")[0]: round(timing.seconds, 4) for name, timing in timings.items()},
    }


def _timings(names: list[str], path: Path, repeats: int) -> dict[str, Timing]:
    timings = compare([f"{__name__}:{name}" for name in names], path, repeats)
    return {name.partition(":")[2]: timing for name, timing in timings.items()}


def _check_same(path: Path, names: tuple[str, ...]) -> None:
    """All readers found the same points, or their times mean nothing."""
    first, *others = (globals()[f"{name}_tensorboard"]()(path) for name in names)
    for name, other in zip(names[1:], others, strict=True):
        assert first.keys() == other.keys(), name
        for tag, arrays in first.items():
            for ours, theirs in zip(arrays, other[tag], strict=True):
                np.testing.assert_array_equal(ours, theirs, err_msg=name)


# --- files -----------------------------------------------------------------------------------------------------------


def write_events(folder: Path, scalars: int) -> Path:
    """An event file as torch.utils.tensorboard writes it, built in numpy: one event per scalar, tags in turn."""
    folder.mkdir()
    path = folder / "events.out.tfevents.1700000000.host.1.0"
    with path.open("wb") as file:
        file.write(b"".join(_real_records(scalars, 0)))
        for first in range(len(TAGS), scalars, 400_000):
            file.write(_records(first, min(first + 400_000, scalars)))
    expected = b"".join(_real_records(scalars, 20 * len(TAGS)))
    with path.open("rb") as file:
        assert file.read(len(expected)) == expected, "the file is not what TensorBoard would have written"
    return path


def _point(event: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps, values and wall times of the events with these numbers."""
    return event // len(TAGS), np.sin(event * 0.001).astype("<f4"), 1.7e9 + event * 0.001


def _real_records(scalars: int, until: int) -> Iterator[bytes]:
    """The version record and the events up to `until`, at least those of step 0, by TensorBoard's own code."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    writer.write(Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString())
    for event in range(min(scalars, max(until, len(TAGS)))):
        (step,), (value,), (wall_time,) = _point(np.array([event]))
        summary = Summary(value=[Summary.Value(tag=TAGS[event % len(TAGS)], simple_value=value)])
        writer.write(Event(wall_time=wall_time, step=step, summary=summary).SerializeToString())
    yield buffer.getvalue()


def _records(first: int, last: int) -> bytes:
    """The records of the events first <= event < last, none of which is of step 0."""
    events = np.arange(first, last)
    widths = 1 + sum((events // len(TAGS) >= 1 << 7 * more).astype(int) for more in (1, 2, 3))
    return b"".join(_alike(events[widths == width], width) for width in np.unique(widths))


def _alike(events: np.ndarray, width: int) -> bytes:
    """Records whose steps are `width` bytes long as varints, and which are therefore of one length."""
    steps, values, wall_times = _point(events)
    tags = np.array([tag.encode() for tag in TAGS])
    tag_size = tags.itemsize
    value_size, payload_size = 2 + tag_size + 5, 10 + width + 4 + tag_size + 7
    rows = np.zeros((len(events), payload_size + 16), np.uint8)
    rows[:, 0] = payload_size
    payload = rows[:, 12:-4]
    payload[:, 0] = 0x09
    payload[:, 1:9] = wall_times.astype("<f8")[:, None].view(np.uint8)
    payload[:, 9] = 0x10
    for i in range(width):
        payload[:, 10 + i] = (steps >> 7 * i & 0x7F) | (0x80 if i < width - 1 else 0)
    head = bytes([0x2A, value_size + 2, 0x0A, value_size, 0x0A, tag_size])
    payload[:, 10 + width : 16 + width] = np.frombuffer(head, np.uint8)
    payload[:, 16 + width : 16 + width + tag_size] = tags[events % len(TAGS)][:, None].view(np.uint8)
    payload[:, -5] = 0x15
    payload[:, -4:] = values[:, None].view(np.uint8)
    starts = np.arange(len(events)) * rows.shape[1]
    flat = rows.ravel()
    rows[:, 8:12] = masked(crc32c(flat, starts, starts + 8))[:, None].view(np.uint8)
    rows[:, -4:] = masked(crc32c(flat, starts + 12, starts + 12 + payload_size))[:, None].view(np.uint8)
    return rows.tobytes()


def _rows() -> Iterator[dict[str, float]]:
    rng = np.random.default_rng(0)
    for row in rng.standard_normal((ROWS, COLUMNS)).cumsum(axis=0):
        yield {f"train/metric_{i}": value for i, value in enumerate(row.tolist())}


def _write_wandb(folder: Path) -> Path:
    import wandb

    settings = wandb.Settings(console="off", silent=True, x_disable_stats=True)
    run = wandb.init(mode="offline", dir=folder, project="benchmark", config={"lr": 1e-3}, settings=settings)
    for row in _rows():
        run.log(row)
    run.finish()
    return next(folder.glob("wandb/offline-run-*/run-*.wandb"))


def _write_trackio(folder: Path) -> Path:
    """In a process of its own, since Trackio reads its folder from the environment when it is imported."""
    program = f"from {__name__} import log_to_trackio; log_to_trackio()"
    environment = {**os.environ, "TRACKIO_DIR": str(folder), "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, capture_output=True)
    return folder / "benchmark.db"


def log_to_trackio() -> None:
    """Writes the rows with Trackio itself."""
    import trackio

    trackio.init(project="benchmark", name="run", config={"lr": 1e-3}, auto_log_gpu=False)
    for step, row in enumerate(_rows()):
        trackio.log(row, step=step)
    trackio.finish()


# --- TensorBoard readers ---------------------------------------------------------------------------------------------


def nothing_tensorboard() -> Reader:
    """What the process takes before it reads."""
    from firstbreak.readers import tensorboard

    return lambda path: tensorboard.DESCRIPTION


def floor_tensorboard() -> Reader:
    import google_crc32c

    return lambda path: google_crc32c.value(path.read_bytes())


def firstbreak_tensorboard() -> Reader:
    from firstbreak.readers import tensorboard

    def read(path: Path) -> Arrays:
        curves = tensorboard.read(path).curves
        return {tag: (c.index, c.values, c.times) for tag, c in curves.items() if c.times is not None}

    return read


def eventaccumulator_tensorboard() -> Reader:
    from tensorboard.backend.event_processing.event_accumulator import SCALARS as KIND
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read(path: Path) -> Arrays:
        accumulator = EventAccumulator(str(path), size_guidance={KIND: 0})
        accumulator.Reload()
        arrays = {}
        for tag in accumulator.Tags()[KIND]:
            points = np.array([(e.step, e.value, e.wall_time) for e in accumulator.Scalars(tag)])
            arrays[tag] = (points[:, 0], points[:, 1], points[:, 2])
        return arrays

    return read


def tbparse_tensorboard() -> Reader:
    from tbparse import SummaryReader

    def read(path: Path) -> Arrays:
        table = SummaryReader(str(path), extra_columns={"wall_time"}).scalars
        groups = table.groupby("tag", sort=False)
        return {str(tag): tuple(g[c].to_numpy() for c in ("step", "value", "wall_time")) for tag, g in groups}

    return read


def rust_tensorboard() -> Reader:
    return _rust(checksum=False)


def rust_checksum_tensorboard() -> Reader:
    return _rust(checksum=True)


def _rust(checksum: bool) -> Reader:
    """TensorBoard's Rust server: start it, wait until it has loaded, ask for all scalars at once, make arrays."""
    import grpc
    import tensorboard_data_server
    from tensorboard.data.proto import data_provider_pb2 as proto
    from tensorboard.data.proto.data_provider_pb2_grpc import TensorBoardDataProviderStub

    def read(path: Path) -> Arrays:
        with tempfile.TemporaryDirectory() as scratch:
            port_file = Path(scratch, "port")
            command = [
                tensorboard_data_server.server_binary(),
                *("--logdir", str(path.parent), "--reload", "once", "--port", "0", "--port-file", str(port_file)),
                *("--samples-per-plugin", "scalars=all", "--die-after-stdin", "-v"),
                *(["--checksum"] if checksum else []),
            ]
            server = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            assert server.stderr is not None
            try:
                while b"Finished load cycle" not in server.stderr.readline():
                    pass
                options = [("grpc.max_receive_message_length", -1)]
                with grpc.insecure_channel(f"localhost:{port_file.read_text().strip()}", options=options) as channel:
                    return _all_scalars(TensorBoardDataProviderStub(channel), proto)
            finally:
                server.kill()
                server.wait()

    return read


def _all_scalars(stub: Any, proto: Any) -> Arrays:
    request = proto.ReadScalarsRequest(experiment_id="x", plugin_filter=proto.PluginFilter(plugin_name="scalars"))
    request.downsample.num_points = 1 << 40
    response = stub.ReadScalars(request)
    return {
        tag.tag_name: (np.array(tag.data.step), np.array(tag.data.value), np.array(tag.data.wall_time))
        for run in response.runs
        for tag in run.tags
    }


# --- wandb and Trackio readers ---------------------------------------------------------------------------------------


def firstbreak_wandb() -> Reader:
    from firstbreak.readers import wandb

    return wandb.read


def protobuf_wandb() -> Reader:
    """wandb's own generated classes over firstbreak's framing, which wandb no longer offers in Python."""
    import json

    from wandb.proto.wandb_internal_pb2 import Record

    from firstbreak.readers._blocklog import BlockLog

    def read(path: Path) -> dict[str, np.ndarray]:
        columns: dict[str, list[Any]] = defaultdict(list)
        with path.open("rb") as file:
            for data in BlockLog(file).records():
                record = Record.FromString(data)
                if record.WhichOneof("record_type") == "history":
                    for item in record.history.item:
                        columns[item.key or ".".join(item.nested_key)].append(json.loads(item.value_json))
        return {name: np.array(values) for name, values in columns.items()}

    return read


def firstbreak_trackio() -> Reader:
    from firstbreak.readers import trackio

    return trackio.read


def trackio_trackio() -> Reader:
    """Trackio's own storage class, which gives a list of dicts."""

    def read(path: Path) -> list[dict[str, Any]]:
        os.environ["TRACKIO_DIR"] = str(path.parent)
        from trackio.sqlite_storage import SQLiteStorage

        return list(SQLiteStorage.get_logs(path.stem, "run"))

    return read


def pandas_trackio() -> Reader:
    """What scripts do: the table with sqlite3, the JSON with orjson, the columns with pandas."""
    import sqlite3

    import orjson
    import pandas

    def read(path: Path) -> pandas.DataFrame:
        with sqlite3.connect(path) as db:
            rows = db.execute("SELECT step, metrics FROM metrics ORDER BY id").fetchall()
        return pandas.DataFrame([{"step": step, **orjson.loads(metrics)} for step, metrics in rows])

    return read
