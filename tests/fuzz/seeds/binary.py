"""Event files, block logs, databases, archives and dumps of completions."""

import io
import json
import sqlite3
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers._crc32c import crc32c, masked
from tests.lazy import available
from tests.readers.blocklog import block_log, field, varint, wandb_file, wandb_item, wandb_row

_FLOAT32, _FLOAT64 = 5, 1  #: wire types


def _fixed(number: int, wire: int, value: float) -> bytes:
    return varint(number << 3 | wire) + struct.pack("<f" if wire == _FLOAT32 else "<d", value)


def _crc(data: bytes) -> bytes:
    padded = np.frombuffer(bytes(8) + data, np.uint8)
    return masked(crc32c(padded, np.array([8]), np.array([8 + len(data)]))).tobytes()


def _records(*payloads: bytes) -> bytes:
    """TFRecords."""
    lengths = (len(payload).to_bytes(8, "little") for payload in payloads)
    return b"".join(n + _crc(n) + payload + _crc(payload) for n, payload in zip(lengths, payloads, strict=True))


def _event(step: int, *values: bytes) -> bytes:
    summary = b"".join(field(1, value) for value in values)
    return _fixed(1, _FLOAT64, 1.7e9) + (field(2, step) if step else b"") + field(5, summary)


def _simple(tag: str, value: float) -> bytes:
    return field(1, tag) + _fixed(2, _FLOAT32, value)


def _text(tag: str, content: str) -> bytes:
    tensor = field(1, 7) + field(8, content)
    return field(1, tag) + field(8, tensor) + field(9, field(1, field(1, "text")))


def _events() -> bytes:
    options = "|param|value|\n|-|-|\n|lr|0.001|\n|norm|True|"
    tensor = field(1, "reward") + field(8, field(1, 1) + field(2, b"") + field(4, struct.pack("<f", 0.5)))
    restart = _fixed(1, _FLOAT64, 1.7e9) + field(2, 3) + field(7, field(1, 1))
    return _records(
        _fixed(1, _FLOAT64, 1.7e9) + field(3, "brain.Event:2"),
        _event(0, _text("hyperparameters/text_summary", options)),
        *(_event(step, _simple("loss", step / 2), tensor) for step in range(5)),
        *(_event(step, _simple("kl", float("nan"))) for step in (-1, 0, 1 << 40)),
        restart,
        _event(3, _simple("loss", 9.0)),
    )


def _wandb() -> bytes:
    run = field(17, field(4, field(1, wandb_item("lr", 0.001)[2:])) + field(17, field(1, 1_700_000_000)))
    rows = [wandb_row(s, {"loss": s / 2, "nest.k": float("nan"), "stage": "a"}) for s in range(20)]
    return wandb_file([run, *rows, wandb_row(20, {"text": "x" * 40_000, "loss": 1}), field(18, field(1, 1))])


def _swanlab() -> bytes:
    def scalar(step: int) -> bytes:
        return field(13, field(1, "loss") + field(2, step) + field(4, field(1, 9)) + field(5, _fixed(1, _FLOAT64, 0.5)))

    return block_log(b":SWL\xd6\xe1\x02", [field(10, field(12, field(1, 50))), *map(scalar, range(20)), field(11, b"")])


def database(*statements: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.db")
        with sqlite3.connect(path) as db:
            for statement in statements:
                db.execute(statement)
        db.close()
        return path.read_bytes()


#: the tables of a new database, and one run
MLFLOW = (
    "CREATE TABLE experiments (experiment_id INTEGER)",
    "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT, lifecycle_stage TEXT)",
    "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT)",
    "CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN)",
    "INSERT INTO runs VALUES ('r', 'run', 'RUNNING', 5, 'active')",
)
TRACKIO = (
    "CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, metrics)",
    "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT, created_at TEXT)",
)


def _trackio() -> bytes:
    rows = ", ".join(f"""('r', '2026-01-01T00:00:00', 'run', {i}, '{{"loss": {i}, "kl": "NaN"}}')""" for i in range(30))
    return database(
        *TRACKIO,
        f"INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES {rows}",
        """INSERT INTO configs VALUES (1, 'r', 'run', '{"lr": 0.1}', '2026-01-01T00:00:00')""",
    )


def _mlflow() -> bytes:
    rows = ", ".join(f"('loss', {i / 2}, 1000, 'r', {i}, {i % 5 == 0})" for i in range(30))
    return database(*MLFLOW, "INSERT INTO params VALUES ('lr', '0.1', 'r')", f"INSERT INTO metrics VALUES {rows}")


def _clearml() -> bytes:
    scalar = {"timestamp": 1000, "type": "training_stats_scalar", "metric": "train", "variant": "loss", "value": 0.5}
    events = [[{**scalar, "iter": step} for step in range(9)]]
    options = {"hyperparams": {"Args": {"lr": {"value": "0.1"}}}}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metrics.jsonl", "".join(json.dumps(line) + "\n" for line in events))
        archive.writestr("task.json", json.dumps(options))
        archive.writestr("log.jsonl", '[{"msg": "NaN value encountered. Reporting it as"}]\n')
    return out.getvalue()


def _neptune() -> bytes:
    def line(kind: str, path: list[str], **content: object) -> str:
        return json.dumps({"obj": {"type": kind, "path": path, **content}, "version": 1, "at": 1.0}) + "\n"

    points = [{"value": 0.5, "step": step, "ts": 1.0} for step in range(3)]
    return (line("AssignFloat", ["params", "lr"], value=0.1) + line("LogFloats", ["loss"], values=points)).encode()


def _jsonl(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


_CHAT = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": [{"type": "text", "text": "4"}]}]
_TRACE = {
    "nodes": [{"message": message} for message in _CHAT],
    "rewards": {"correct": {"score": 1.0, "weight": 0.5}},
    "info": {"advantage": 0.25},
}

SEEDS: dict[str, Any] = {
    "tensorboard": [("events.out.tfevents.1700000000.host.1.0", _events())],
    "wandb": [("run-abc.wandb", _wandb())],
    "swanlab": [("run-abc.swanlab", _swanlab())],
    "trackio": [("project.db", _trackio())],
    "mlflow_sqlite": [("mlflow.db", _mlflow())],
    "clearml": [("offline-1.zip", _clearml())],
    "neptune": [("data-1.log", _neptune())],
    "sample_dump": [
        ("rollout/3.jsonl", _jsonl({"input": "q", "output": "a", "gts": "4", "score": 1.0, "step": 3, "acc": True})),
        (
            "train_data_step12.jsonl",
            _jsonl({"content": [_CHAT], "rewards": [0.5], "advantages": [[0.0, -1.5]], "idx": 0}),
        ),
        ("step_8/traces.jsonl", _jsonl({"env": "e", "task": "t", "group": 5, "run": {"step": 8}, "traces": [_TRACE]})),
        ("x.jsonl", _jsonl({"prompt": _CHAT[:1], "completion": _CHAT[1:], "reward": float("nan")})),
    ],
}


def _parquet() -> list[tuple[str, bytes]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    metrics, completions = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"_step": [0, 1, 2], "loss": [0.5, None, 0.25], "stage": ["a", "b", "b"]}), metrics)
    pq.write_table(pa.table({"prompt": [_CHAT[:1]], "completion": ["4"], "advantage": [0.5], "step": [1]}), completions)
    return [("0000.parquet", metrics.getvalue()), ("completions_1.parquet", completions.getvalue())]


if available("pyarrow"):  # the parquet extra
    SEEDS["parquet"] = _parquet
