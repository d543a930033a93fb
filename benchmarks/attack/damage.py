"""Damaged, locked, empty and copied files: each is read in its sound part, or named, and hides no broken run."""

import bz2
import csv
import gzip
import io
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from tests.fuzz.run import kind_of
from tests.fuzz.seeds.binary import MLFLOW, TRACKIO, _event, _fixed, _records, _simple, database
from tests.readers.blocklog import block_log, field, wandb_file, wandb_row

from benchmarks.attack import AttackTally
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action
from firstbreak.readers import Unreadable
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read

ROWS = 80
SCORE = "eval/mean_reward"
Rows = list[dict[str, float]]


def broken() -> Rows:
    """An evaluation that rose and then lost all that it had gained."""
    rng = np.random.default_rng(0)
    rise = np.concatenate([np.linspace(10, 200, ROWS // 2), np.linspace(200, 5, ROWS // 4), np.full(ROWS // 4, 5)])
    return [{"step": 1000 * i, SCORE: float(v)} for i, v in enumerate(rise + rng.normal(0, 2, ROWS), 1)]


def healthy() -> Rows:
    """The training beside it, in which nothing is wrong."""
    rng = np.random.default_rng(1)
    return [
        {
            "step": 1000 * i,
            "rollout/ep_rew_mean": 200 * i / ROWS + rng.normal(0, 2),
            "train/approx_kl": 0.01 + 0.001 * rng.random(),
            "train/clip_fraction": 0.1 + 0.01 * rng.random(),
            "train/explained_variance": 0.5 + 0.4 * i / ROWS,
            "train/entropy_loss": -1.0 + 0.3 * i / ROWS,
        }
        for i in range(1, ROWS + 1)
    ]


def _table(rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _lines(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def arrays(rows: Rows) -> bytes:
    out = io.BytesIO()
    np.savez(
        out,
        timesteps=[r["step"] for r in rows],
        results=[[r[SCORE]] * 3 for r in rows],
        ep_lengths=[[9] * 3] * len(rows),
    )
    return out.getvalue()


def _state(rows: Rows) -> str:
    history = [{"step": r["step"], "epoch": r["step"] / 1e5, "eval_reward": r[SCORE]} for r in rows]
    return json.dumps({"global_step": rows[-1]["step"], "log_history": history}, indent=1)


def events(rows: Rows) -> bytes:
    points = (_event(int(r["step"]), *(_simple(name, r[name]) for name in r if name != "step")) for r in rows)
    return _records(_fixed(1, 1, 1.7e9) + field(3, "brain.Event:2"), *points)


def _wandb(rows: Rows) -> bytes:
    run = field(17, field(17, field(1, 1_700_000_000)))
    return wandb_file([run, *(wandb_row(int(r["step"]), {SCORE: r[SCORE]}) for r in rows)])


def _swanlab(rows: Rows) -> bytes:
    points = (
        field(13, field(1, SCORE) + field(2, int(r["step"])) + field(4, field(1, 9)) + field(5, _fixed(1, 1, r[SCORE])))
        for r in rows
    )
    return block_log(b":SWL\xd6\xe1\x02", [field(10, field(12, field(1, 50))), *points])


def _mlflow(rows: Rows) -> bytes:
    points = ", ".join(f"('{SCORE}', {r[SCORE]}, 1000, 'r', {int(r['step'])}, 0)" for r in rows)
    return database(*MLFLOW, f"INSERT INTO metrics VALUES {points}")


def _trackio(rows: Rows) -> bytes:
    points = ", ".join(
        f"""('r', '2026-01-01T00:00:00', 'run', {int(r["step"])}, '{json.dumps({SCORE: r[SCORE]})}')""" for r in rows
    )
    return database(*TRACKIO, f"INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES {points}")


def parquet(rows: Rows) -> bytes:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    out = io.BytesIO()
    pq.write_table(
        pa.table({"_step": [r["step"] for r in rows], SCORE: [r[SCORE] for r in rows]}), out, row_group_size=16
    )
    return out.getvalue()


def _notebook(rows: Rows) -> str:
    printed = {"output_type": "stream", "name": "stdout", "text": [f"{row}\n" for row in rows]}
    cell = {"cell_type": "code", "source": "train()", "metadata": {}, "execution_count": 1, "outputs": [printed]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


#: a kind of log -> (its name, its bytes)
LOGS: Mapping[str, tuple[str, Callable[[Rows], str | bytes]]] = {
    "JSONL": ("eval.jsonl", _lines),
    "CSV": ("progress.csv", _table),
    "TSV": ("eval.tsv", lambda rows: _table(rows).replace(",", "\t")),
    "TensorBoard": ("events.out.tfevents.1700000000.host.1.0", events),
    "npz": ("evaluations.npz", arrays),
    "console": ("train.log", lambda rows: "".join(f"{row}\n" for row in rows)),
    "trainer_state": ("trainer_state.json", _state),
    "JSON list": ("history.json", lambda rows: json.dumps(rows, indent=1)),
    "wandb": ("wandb/run-20260101_000000-abc/run-abc.wandb", _wandb),
    "SwanLab": ("swanlog/run-1/run-abc.swanlab", _swanlab),
    "MLflow": ("mlflow.db", _mlflow),
    "trackio": ("project.db", _trackio),
    "parquet": ("history.parquet", parquet),
    "gzip": ("eval.jsonl.gz", lambda rows: gzip.compress(_lines(rows).encode(), mtime=0)),
    "bzip2": ("eval.csv.bz2", lambda rows: bz2.compress(_table(rows).encode())),
    "notebook": ("train.ipynb", _notebook),
}


def _middle(data: bytes, new: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + new + data[at + len(new) :]


DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "the first bytes lost": lambda data: data[10:],
    "the last bytes lost": lambda data: data[:-10],
    "one byte changed": lambda data: _middle(data, bytes([data[len(data) // 2] ^ 0x5A])),
    "text before it": lambda data: b"Starting the training on 8 devices\n" + data,
    "zeros in the middle": lambda data: _middle(data, bytes(64)),
    "half of it": lambda data: data[: len(data) // 2 - 3],
    "twice": lambda data: data + data,
    "empty": lambda data: b"",
    "another encoding": lambda data: data.decode("latin-1").encode("utf-16-le"),
}


#: logs that grow line by line: whether half of one is all that there ever was, only the writer knows
GROWING = frozenset({"JSONL", "CSV", "TSV", "console", "TensorBoard", "wandb", "SwanLab"})


def is_missing(log: str, damage: str) -> bool:
    return log in GROWING and damage in ("half of it", "the last bytes lost")


def as_bytes(made: str | bytes) -> bytes:
    return made.encode() if isinstance(made, str) else made


def asked(folder: Path) -> tuple[set[Action], str]:
    """The actions for the runs of a folder, and all that is said of its files."""
    actions, said = set(), []
    try:
        for path in find_runs(folder):
            run = read(path)
            actions.add(diagnose(run).verdict.action)
            said += [*run.damage, *run.unread, *run.notes]
    except Unreadable as error:
        said.append(str(error))
    return actions, "\n".join(said)


def damaged(count: int) -> AttackTally:
    """Each kind of log with each damage, beside a training in which nothing is wrong."""
    tally = AttackTally()
    for log, damage in list(product(LOGS, DAMAGES))[:count]:
        name, make = LOGS[log]
        with tempfile.TemporaryDirectory() as scratch:
            tally.add(
                f"{log}, {damage}",
                *hidden(
                    Path(scratch), name, DAMAGES[damage](as_bytes(make(broken()))), missing=is_missing(log, damage)
                ),
            )
    return tally


def hidden(folder: Path, name: str, data: bytes | None, *, missing: bool = False) -> Iterator[str]:
    if data is not None:
        _at(folder, name, data)
    beside = folder / ("metrics.csv" if "json" in name else "metrics.jsonl")
    beside.write_text((_table if beside.suffix == ".csv" else _lines)(healthy()))
    try:
        actions, said = asked(folder)
    except Exception as error:
        yield kind_of(error)
        return
    named = name.rpartition("/")[0] or name
    if Action.CONTINUE in actions and not (named in said and (missing or data == b"")):
        yield "named, and passes for healthy" if named in said else "vanishes"


# --- locked and cut databases -----------------------------------------------------------------------------------------

#: database -> (its file, a table of it)
DATABASES = {
    "MLflow": ("mlflow.db", "metrics"), "trackio": ("project.db", "metrics"), "Aim": (".aim/run_metadata.sqlite", "run"),
}  # fmt: skip
STATES = ("locked", "half a transaction", *(f"cut at {tenth} tenths" for tenth in range(1, 10)))
AIM = """if True:
    import json, sys
    from aim import Run
    run = Run(repo=sys.argv[1], system_tracking_interval=None, log_system_params=False, capture_terminal_logs=False)
    for row in json.loads(sys.argv[2]):
        run.track(row["eval/mean_reward"], name="eval/mean_reward", step=int(row["step"]))
    run.close()
"""


def databases(count: int) -> AttackTally:
    """Databases whose writer holds the lock, or is in a transaction, and those that are cut at every tenth."""
    tally = AttackTally()
    with tempfile.TemporaryDirectory() as repository:
        subprocess.run([sys.executable, "-c", AIM, repository, json.dumps(broken())], check=True, capture_output=True)
        for log, what in list(product(DATABASES, STATES))[:count]:
            file, table = DATABASES[log]
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                if log == "Aim":
                    shutil.copytree(Path(repository) / ".aim", folder / ".aim")
                else:
                    _at(folder, file, LOGS[log][1](broken()))
                tally.add(f"{log}, {what}", *_in_state(folder, file, table, what))
    return tally


def _in_state(folder: Path, file: str, table: str, what: str) -> Iterator[str]:
    name, path = file.partition("/")[0], folder / file
    if what.startswith("cut"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size * int(what[7]) // 10])
        yield from hidden(folder, name, None)
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        if what == "locked":
            writer.execute("PRAGMA locking_mode = EXCLUSIVE")
            writer.execute("BEGIN EXCLUSIVE")
        else:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute(f"DELETE FROM {table} WHERE rowid > {9 * (table == 'metrics')}")
        yield from hidden(folder, name, None)


# --- copies, empty and foreign files beside a run ---------------------------------------------------------------------


def _at(folder: Path, name: str, content: str | bytes = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(content))


Beside = Callable[[Path], None]
EMPTY = (
    "output.log", "stderr.err", "eval.jsonl", "progress.csv", "trainer_state.json", "history.json", "mlflow.db", "more.npz",
    "events.out.tfevents.1800000000.host.9.0", "history.parquet", "logs/train.log", "notes.txt",
)  # fmt: skip
MODELS = ("base", "sft", "model", "final", "best_model", "reference", "step_100")
COPIES = ("backup", "copy", "old", "run", "backup/2026-01-01")
FOREIGN: Mapping[str, str | bytes] = {
    "README.md": "# A run\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "requirements.txt": "numpy==2.0\ntorch\n",
    "notes.txt": "Reward looks odd after step 300, ask Kim.\n",
    "pip.log": "Collecting numpy\nInstalling numpy-2.0\n",
    "install.err": "warning: slow\n",
    "words.csv": "word,class\nthe,DT\na,DT\n",
    "labels.json": '["cat", "dog"]',
    "best.json": "0.93",
    "vocab.json": '{"a": 0, "b": 1}',
    "package.json": '{"name": "x", "version": "1.0.0"}',
    "dataset.jsonl": '{"prompt": "2+2?", "answer": "4"}\n' * 20,
    "optuna.db": database("CREATE TABLE trials (a)"),
    "image.png": b"\x89PNG\r\n" + bytes(99),
    "weights.pt": bytes(999),
    "obs.npy": npy(np.zeros((9, 3, 3))),
    "a.out": b"\x7fELF" + bytes(99),
}


def _model(name: str, folder: Path) -> None:
    options = {"architectures": ["LlamaForCausalLM"], "hidden_size": 16, "vocab_size": 32, "torch_dtype": "bfloat16"}
    _at(folder, f"{name}/config.json", json.dumps(options))
    _at(folder, f"{name}/generation_config.json", '{"temperature": 0.6, "top_p": 0.9}')
    _at(folder, f"{name}/tokenizer.json", '{"model": {"vocab": {"a": 0}}}')
    _at(folder, f"{name}/tokenizer_config.json", '{"model_max_length": 4096}')
    _at(folder, f"{name}/vocab.txt", "a\nb\n")
    _at(folder, f"{name}/model.safetensors", bytes(64))


def _copied(name: str, change: Callable[[Path], bytes], folder: Path) -> None:
    for path in [path for path in sorted(folder.rglob("*")) if path.is_file()]:
        _at(folder, f"{name}/{path.relative_to(folder)}", change(path))


def _older(path: Path) -> bytes:
    """What a log held earlier: its first part, in whole lines where it has any."""
    data = path.read_bytes()
    if path.suffix == ".npz":
        with np.load(path) as held:
            out = io.BytesIO()
            np.savez(out, **{name: array[: len(array) * 3 // 4] for name, array in held.items()})
            return out.getvalue()
    part = data[: len(data) * 3 // 4]
    return part if "tfevents" in path.name else part.rpartition(b"\n")[0] + b"\n"


BESIDE: Mapping[str, Beside] = {
    **{f"an empty {name}": partial(_at, name=name) for name in EMPTY},
    **{f"a model in {name}": partial(_model, name) for name in MODELS},
    **{f"the same run in {name}": partial(_copied, name, Path.read_bytes) for name in COPIES},
    **{f"an older copy in {name}": partial(_copied, name, _older) for name in ("backup", "old")},
    **{f"a foreign {name}": partial(_at, name=name, content=content) for name, content in FOREIGN.items()},
}


#: how a run may lie in its folder: the name and the bytes of each file, of the score's rows and the training's
LAYOUTS: Mapping[str, Mapping[str, Callable[[Rows, Rows], str | bytes]]] = {
    "event files": {"events.out.tfevents.1700000000.host.1.0": lambda score, train: events(score)},
    "a console log": {"train.log": lambda score, train: "".join(f"{row}\n" for row in score)},
    "two tables": {"eval.csv": lambda score, train: _table(score), "train.csv": lambda score, train: _table(train)},
    "lines and arrays": {
        "metrics.jsonl": lambda score, train: _lines(train),
        "evaluations.npz": lambda score, train: arrays(score),
    },
    "a folder": {
        "tensorboard/events.out.tfevents.1700000000.host.1.0": lambda score, train: events(score),
        "config.yaml": lambda score, train: "gamma: 0.99\n",
    },
}


def beside(count: int) -> AttackTally:
    """What lies beside a complete run and is no other run: what is said of the run is what is said without it."""
    tally = AttackTally()
    for layout, rows, what in list(product(LAYOUTS, (broken, healthy), BESIDE))[:count]:
        with tempfile.TemporaryDirectory() as scratch:
            tally.add(f"{layout}, {rows.__name__}, {what}", *_changed(Path(scratch) / "run-7", layout, rows(), what))
    return tally


def _changed(folder: Path, layout: str, rows: Rows, what: str) -> Iterator[str]:
    score = [{"step": row["step"], SCORE: row.get(SCORE, row.get("rollout/ep_rew_mean", 0.0))} for row in rows]
    for name, make in LAYOUTS[layout].items():
        _at(folder, name, make(score, healthy()))
    try:
        before = sorted(action.value for action in asked(folder)[0])
        BESIDE[what](folder)
        after = sorted(action.value for action in asked(folder)[0])
        if len(find_runs(folder)) > 1:
            yield "one run is several"
        elif after != before:
            yield f"{before} becomes {after}"
    except Exception as error:
        yield kind_of(error)
