"""Time and memory beside size: files of each format at three sizes, wide, deep, long, in reverse, or with a hole."""

import io
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.seeds.binary import MLFLOW, TRACKIO, _fixed, database
from tests.readers.blocklog import block_log, field, wandb_file, wandb_row

from benchmarks.attack import AttackTally
from benchmarks.attack.damage import arrays, events, npy, parquet

SIZES = (1 << 18, 1 << 19, 1 << 20)  #: bytes
HOLE = 1000  #: times as long is a file with a hole
LONGEST, MOST_GIB = 60.0, 2.0  #: for one file
#: seconds from which growth is measured, and times as much for twice the size (4 is the square)
NOTICED, STEEPER = 2.0, 3.2
CHILD = """if True:
    import json, resource, sys, time
    from firstbreak.readers import Unreadable
    from firstbreak.readers.grouping import find_runs
    from firstbreak.readers.read import read
    began, problem = time.process_time(), ""
    try:
        for run in find_runs(sys.argv[1]):
            read(run)
    except Unreadable as error:
        problem = "" if chr(10) not in str(error) else "a message of several lines"
    except Exception as error:
        problem = type(error).__name__
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps([time.process_time() - began, most, problem]))
"""


def _lines(row: Callable[[int], str], head: str = "") -> Callable[[int], str]:
    """As many rows as fit the size."""
    return lambda size: head + "".join(map(row, range(size // len(row(1000)))))


def _list(row: Callable[[int], object]) -> Callable[[int], str]:
    return lambda size: json.dumps([row(i) for i in range(size // len(json.dumps(row(1000))))])


def _deep(begin: str, end: str = "", head: str = "", tail: str = "") -> Callable[[int], str]:
    def written(size: int) -> str:
        depth = size // len(begin + end)
        return head + begin * depth + end * depth + tail

    return written


def _score(size: int, name: str = "reward") -> list[dict[str, float]]:
    return [{"step": float(-i), name: i / 7} for i in range(size // 60)]


def _mlflow(size: int) -> bytes:
    points = ", ".join(f"('m{i}', {i}, 1000, 'r', {-i}, 0)" for i in range(size // 60))
    return database(*MLFLOW, f"INSERT INTO metrics VALUES {points}")


def _notebook(size: int) -> str:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": [f"step: {i}, reward: 0.5\n"]} for i in range(size // 90)
    ]
    cell = {"cell_type": "code", "source": "x", "metadata": {}, "execution_count": 1, "outputs": outputs}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})


def _trackio(run: str, name: str) -> Callable[[int], bytes]:
    """A database in which the names of runs, or of metrics, hold the number of the row in the place of "#"."""
    row = """('{0}', '2026-01-01T00:00:00', '{0}', {1}, '{{"{2}": 0.5}}')"""

    def written(size: int) -> bytes:
        rows = (row.format(run.replace("#", str(i)), -i, name.replace("#", str(i))) for i in range(size // 70))
        return database(
            *TRACKIO, f"INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES {', '.join(rows)}"
        )

    return written


def _zip(**members: Callable[[int], str]) -> Callable[[int], bytes]:
    """An archive; `task_json` is `task.json`."""

    def written(size: int) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, make in members.items():
                archive.writestr(name.replace("_", "."), make(size))
        return out.getvalue()

    return written


def _swanlab(size: int) -> bytes:
    value = field(4, field(1, 9)) + field(5, _fixed(1, 1, 0.5))
    points = (field(13, field(1, f"m{i}") + field(2, i) + value) for i in range(size // 40))
    return block_log(b":SWL\xd6\xe1\x02", [field(10, field(12, field(1, 50))), *points])


def _keys(key: str, value: object) -> Callable[[int], dict[str, object]]:
    return lambda size: {key % i: value for i in range(size // (len(json.dumps(value)) + 11))}


def _aim(size: int) -> None:
    """A repository below the current folder, as Aim writes it."""
    from aim import Run

    run = Run(repo=".", system_tracking_interval=None, log_system_params=False, capture_terminal_logs=False)
    for i in range(size // 60):
        run.track(0.5, name=f"m{i % 1000}", step=-i)
    run.close()


_MONITOR = '#{"t_start": 1.0, "env_id": "x"}\nr,l,t\n'
_CLEARML = {"timestamp": 1000, "type": "training_stats_scalar", "metric": "a", "value": 0.5}
_POINT = {"value": 0.5, "step": 1, "ts": 1.0}
_CALL, _DEEPER = '{"name": "f", "arguments": ', '{"a": '
_SAMPLE = {"prompt": "p", "completion": "c", "reward": 0.5}


def _wide(size: int) -> dict[str, Any]:
    return {f"m{i}": i / 7 for i in range(size // 36)}


def _names(size: int) -> list[dict[str, float]]:
    return [{"step": float(i), f"m{i}": 1.0} for i in range(size // 60)]


def _columns(size: int) -> str:
    count = size // 16
    return "".join(f"m{i}," for i in range(count)) + "z\n" + ("0.5," * count + "1\n") * 2


#: what -> (name, the content of a size)
FILES: Mapping[str, tuple[str, Callable[[int], str | bytes | None]]] = {
    "TOML, a dotted key": ("rl.toml", _deep("a.", tail="a = 1\n")),
    "TOML, a dotted heading": ("rl.toml", _deep("a.", head="[", tail="a]\nx = 1\n")),
    "TOML, nested": ("rl.toml", _deep("[", "]", head="a = ")),
    "TOML, tables": ("rl.toml", _lines(lambda i: f"[a{i}]\nx = 1\n")),
    "TOML, names": ("firstbreak.toml", _deep("a.", head="[names]\n", tail='a = "kl.ref"\n')),
    "YAML, nested": ("config.yaml", _deep("[", "]", head="a: ")),
    "YAML, keys": ("config.yaml", _lines(lambda i: f"k{i}: 1\n")),
    "JSON options, nested": ("config.json", _deep('{"a":', "}", tail="")),
    "JSON options, keys": ("config.json", lambda size: json.dumps({f"k{i}": 1 for i in range(size // 12)})),
    "ini, keys": ("a2c.ini", _lines(lambda i: f"k{i} = 1\n", "[a]\n")),
    "JSONL, columns": ("metrics.jsonl", lambda size: (json.dumps(_wide(size)) + "\n") * 2),
    "JSONL, a new name in each line": ("metrics.jsonl", _lines(lambda i: f'{{"step":{i},"m{i}":0.5}}\n')),
    "JSONL, nested": ("metrics.jsonl", _deep('{"a":', "}")),
    "JSONL, in reverse": ("metrics.jsonl", _lines(lambda i: f'{{"step":{10**6 - i},"reward":{i / 7:.3f}}}\n')),
    "JSONL, begun anew": ("metrics.jsonl", _lines(lambda i: f'{{"step":{i % 7 * 100 - i // 7 % 90},"reward":0.5}}\n')),
    "CSV, columns": ("progress.csv", _columns),
    "CSV, in reverse": ("progress.csv", _lines(lambda i: f"{10**6 - i},{i / 7:.3f}\n", "step,reward\n")),
    "CSV, long": ("progress.csv", _lines(lambda i: f"{i},m{i},0.5\n", "step,metric,value\n")),
    "CSV, open quotes": ("progress.csv", _lines(lambda i: '1,"x\n', "step,a\n")),
    "Monitor, in reverse": ("monitor.csv", _lines(lambda i: f"{i / 7:.3f},9,{10**6 - i}\n", _MONITOR)),
    "console, one line": ("train.log", _lines(lambda i: "reward: 0.5 ")),
    "console, names": ("train.log", _lines(lambda i: f"step {i} m{i}: 0.5\n")),
    "console, pairs": ("train.log", _lines(lambda i: f"step: {i}, reward: 0.5, loss: 0.25\n")),
    "console, open dictionaries": ("train.log", _lines(lambda i: "{'a': 1,\n")),
    "console, bars": ("train.log", _lines(lambda i: " 10%|#  | 1/10 [00:01<00:01, loss=0.5]\r")),
    "console, spaces": ("train.log", _lines(lambda i: " " * 200 + "a:" + " " * 200 + "\n")),
    "console, one word": ("train.log", _lines(lambda i: "a_")),
    "console, a table": ("train.log", _lines(lambda i: "| a | 0.5 |\n")),
    "JSON list, names": ("history.json", _list(lambda i: {"step": i, f"m{i}": 1.0})),
    "JSON list, in reverse": ("history.json", _list(lambda i: {"step": -i, "agent": f"a{i % 2}", "r": 1.0})),
    "JSON list, cut again and again": ("history.json", _deep('{"a":[1,{"b":2},{', head="[")),
    "trainer_state, names": ("trainer_state.json", lambda size: json.dumps({"log_history": _names(size)})),
    "Markdown, rows": ("results.md", _lines(lambda i: f"|{i}|0.5|\n", "|step|reward|\n|--|--|\n")),
    "notebook, outputs": ("train.ipynb", _notebook),
    "samples, columns": ("completions.jsonl", lambda size: (json.dumps(_SAMPLE | _wide(size)) + "\n") * 2),
    "samples, lines": ("completions.jsonl", _lines(lambda i: json.dumps(_SAMPLE | {"step": i}) + "\n")),
    "TensorBoard, in reverse": ("events.out.tfevents.1.h", lambda size: events(_score(size))),
    "TensorBoard, names": ("events.out.tfevents.1.h", lambda size: events(_names(size))),
    "wandb, names": ("run-a.wandb", lambda size: wandb_file([wandb_row(i, {f"m{i}": 0.5}) for i in range(size // 30)])),
    "wandb, noise": ("run-a.wandb", lambda size: b":W&B\xe1\xbe\x00" + random.Random(0).randbytes(size)),
    "wandb, false beginnings": ("run-a.wandb", lambda size: b":W&B\xe1\xbe\x00" + b"\xff\x3f\x01" * (size // 3)),
    "npz, in reverse": ("evaluations.npz", lambda size: arrays(_score(size, "eval/mean_reward"))),
    "parquet, in reverse": ("history.parquet", lambda size: parquet(_score(size, "eval/mean_reward"))),
    "MLflow, names": ("mlflow.db", _mlflow),
    "trackio, names": ("project.db", _trackio("r", "m#")),
    "trackio, runs": ("project.db", _trackio("r#", "m")),
    "SwanLab, names": ("run-a.swanlab", _swanlab),
    "ClearML, names": ("offline-1.zip", _zip(task_json=lambda size: "{}", metrics_jsonl=_lines(
        lambda i: json.dumps([_CLEARML | {"variant": f"m{i}", "iter": -i}]) + "\n"))),
    "Neptune, names": (".neptune/offline/run__a__1/data-1.log", _lines(
        lambda i: json.dumps({"obj": {"type": "LogFloats", "path": [f"m{i}"], "values": [_POINT]}, "version": 1}) + "\n")),
    "Sacred, names": ("metrics.json", lambda size: json.dumps(
        _keys("m%d", {"steps": [1, 2], "timestamps": ["2026-01-01T00:00:00"] * 2, "values": [0.5, 1.0]})(size))),
    "JSON points, names": ("results.json", lambda size: json.dumps({"metrics": _keys("m%d", [{"step": 1, "value": 0.5}])(size)})),
    "JSON points, runs": ("results.json", lambda size: json.dumps(_keys("r%d", {"reward": [{"step": 1, "value": 0.5}]})(size))),
    "MLflow folder, in reverse": ("mlruns/0/r/metrics/a", _lines(lambda i: f"1700000000000 {i / 7:.3f} {10**6 - i}\n")),
    "DVCLive, in reverse": ("plots/metrics/a.tsv", _lines(lambda i: f"{10**6 - i}\t{i / 7:.3f}\n", "step\ta\n")),
    "TorchRL, in reverse": ("scalars/a.csv", _lines(lambda i: f"{10**6 - i},{i / 7:.3f}\n")),
    "npy, columns": ("rewards.npy", lambda size: npy(np.zeros((2, size // 16)))),
    "npy, rows": ("rewards.npy", lambda size: npy(np.zeros(size // 8))),
    "nvidia-smi": ("gpu.csv", _lines(lambda i: f"2026/01/01 00:00:00.{i % 1000:03d}, {i % 90}, 5 %\n",
                                     "timestamp, index, utilization.gpu [%]\n")),
    "TensorBoard's JSON, in reverse": ("run-a-tag-reward.json", _list(lambda i: [1.7e9, -i, 0.5])),
    "wandb's readings": ("events.jsonl", _lines(lambda i: f'{{"_runtime": {-i}, "system.gpu.{i}.gpu": 5}}\n')),
    "context, keys": ("firstbreak-context.json", lambda size: json.dumps(
        {"schema": "firstbreak.context/1", "config": _keys("k%d", 1)(size)})),
    "SB3's zip, keys": ("model.zip", _zip(data=lambda size: json.dumps(_keys("k%d", 1)(size)))),
    "tool calls, nested": ("completions.jsonl", lambda size: "".join(
        json.dumps(_SAMPLE | {"step": i, "completion": f"<tool_call>{_CALL}{_DEEPER * (size // 60)}"}) + "\n" for i in range(9))),
    "Aim, names": (".aim", _aim),
    "a script, nested": ("train.py", _deep("(", ")", head="import trl\nx = ", tail="\n")),
}  # fmt: skip
_RUN = ("metrics.jsonl", '{"step":1,"reward":1}\n{"step":2,"reward":1}\n')
#: the file beside such a one, without which it is none of its format
WITH: Mapping[str, tuple[str, str]] = {
    "train.py": _RUN, "firstbreak.toml": _RUN, "metrics.json": ("run.json", "{}"),
    "mlruns/0/r/metrics/a": ("mlruns/0/r/meta.yaml", "run_id: abc\nstatus: 1\n"),
    ".neptune/offline/run__a__1/data-1.log": (".neptune/offline/run__a__1/metadata.json", "{}"),
}  # fmt: skip
#: how files begin that go on with a hole
BEGINNINGS: Mapping[str, bytes] = {
    "metrics.jsonl": b'{"step":1,"reward":1}\n{"step":2,"reward":1}\n', "progress.csv": b"step,reward\n1,1\n",
    "train.log": b"step: 1, reward: 1\n" * 400, "events.out.tfevents.1.h": b"", "run-a.wandb": b":W&B\xe1\xbe\x00",
    "run-a.swanlab": b":SWL\xd6\xe1\x02", "history.json": b'[{"step":1},',
    "trainer_state.json": b'{"log_history":[{"step":1}',
    "train.ipynb": b'{"cells":[', "config.yaml": b"a: 1\n", "config.json": b'{"a":1,', "rl.toml": b"a=1\n", "x.npz": b"PK",
    "x.npy": b"\x93NUMPY", "history.parquet": b"PAR1", "mlflow.db": b"SQLite format 3\0",
    "x.md": b"|step|reward|\n|-|-|\n|1|2|\n",
    "monitor.csv": b'#{"t_start": 1.0, "env_id": "x"}\nr,l,t\n1,2,3\n', "train.py": b"import trl\n",
    "completions.jsonl": b'{"prompt":"a","completion":"b","reward":1}\n',
}  # fmt: skip


def growth(count: int) -> AttackTally:
    """Each file at each size: read, or refused in a line, within the limits, and in time that grows with its size."""
    tally, most, longest = AttackTally(), 0.0, 0.0
    for what in [*FILES, *BEGINNINGS][:count]:
        found = [_measured(what, size) for size in SIZES]
        if found[-1][0] > NOTICED and list(_above(found)):  # measured once more: others use the processor as well
            found = [min(pair) for pair in zip(found, map(partial(_measured, what), SIZES), strict=True)]
        tally.asked += len(SIZES) - 1
        tally.add(what, *(f"{what}: {problem}" for problem in _above(found)))
        longest, most = max([longest, *(f[0] for f in found)]), max([most, *(f[1] for f in found)])
    tally.measured = {"longest_s": round(longest, 1), "most_gib": round(most, 2)}
    return tally


def _measured(what: str, size: int) -> tuple[float, float, str]:
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        _write(Path(scratch), what, size)
        return _read(scratch)


def _write(folder: Path, what: str, size: int) -> None:
    if what in BEGINNINGS:
        with (folder / what).open("wb") as file:
            file.write(BEGINNINGS[what])
            file.truncate(size * HOLE)
        return
    name, make = FILES[what]
    content = make(size)
    if content is None:
        return
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    if name in WITH:
        (folder / WITH[name][0]).write_text(WITH[name][1])


def _read(folder: str) -> tuple[float, float, str]:
    """Seconds of the processor, GiB, and what went wrong."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, folder],
            capture_output=True,
            text=True,
            timeout=10 * LONGEST,
            env=dict(os.environ),
        )
    except subprocess.TimeoutExpired:
        return 10 * LONGEST, 0.0, ""
    if done.returncode:
        return 0.0, 0.0, f"ends with {done.returncode}"
    seconds, gib, problem = json.loads(done.stdout)
    return seconds, gib, problem


def _above(found: Iterable[tuple[float, float, str]]) -> Iterator[str]:
    *_, before, last = found
    if last[0] > LONGEST + NOTICED:
        yield f"takes more than {LONGEST:g} s"
    elif last[0] > max(NOTICED, STEEPER * before[0]):
        yield "takes time that grows with the square of its size"
    if last[1] > MOST_GIB:
        yield f"takes more than {MOST_GIB:g} GiB"
    if last[2]:
        yield last[2]
