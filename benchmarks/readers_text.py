"""How fast tables, JSON lines and console logs are read, beside the fastest libraries.

Tables and JSON lines: 200,000 rows of 20 full-precision numbers, 2 % of the rows with three absent ones. Every reader
ends with one array per column, except `orjson`, whose list of dicts is only half the way. Console: 50,000 dicts as
the HF Trainer prints them; no library reads logs, so the peer is what scripts do, `ast.literal_eval` line by line.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh_process import compare
from benchmarks.size import sized

ROWS, COLUMNS, ABSENT = sized(200_000, 500), 20, 0.02
LOG_LINES = sized(50_000, 500)
LOG_NAMES = ("loss", "grad_norm", "learning_rate", "reward", "reward_std", "kl", "completions/mean_length", "epoch")

Reader = Callable[[Path], Any]


def bench_text() -> dict[str, dict[str, Any]]:
    """`csv`, `jsonl`, `console`: {firstbreak_s, best_s, best, ...}."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            "csv": _bench(_write_csv(Path(folder)), ("pandas_csv", "polars_csv", "pyarrow_csv"), "firstbreak_csv"),
            "jsonl": _bench(_write_jsonl(Path(folder)), ("polars_jsonl", "orjson_jsonl"), "firstbreak_jsonl"),
            "console": _bench(_write_log(Path(folder)), ("literal_eval_console",), "firstbreak_console"),
        }


def _bench(path: Path, peers: tuple[str, ...], ours: str) -> dict[str, Any]:
    timings = compare([f"{__name__}:{name}" for name in (ours, *peers)], path)
    named = {name.partition(":")[2]: timing for name, timing in timings.items()}
    best = min(peers, key=lambda name: named[name].seconds)
    return {
        "firstbreak_s": round(named[ours].seconds, 4),
        "best_s": round(named[best].seconds, 4),
        "best": best.rpartition("_")[0],
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "firstbreak_peak_mb": round(named[ours].peak_mb),
        "best_peak_mb": round(named[best].peak_mb),
        "all_s": {name.rpartition("_")[0]: round(timing.seconds, 4) for name, timing in named.items()},
    }


# --- files -----------------------------------------------------------------------------------------------------------


def _rows() -> Iterator[tuple[list[float], bool]]:
    """(numbers, whether three of them are absent) of every row: random walks, as curves are."""
    rng = np.random.default_rng(0)
    walks = rng.standard_normal((ROWS, COLUMNS)).cumsum(axis=0)
    for row, holes in zip(walks, rng.random(ROWS) < ABSENT, strict=True):
        yield row.tolist(), bool(holes)


NAMES = [f"metrics/m{i}" for i in range(COLUMNS)]
HOLES = (3, 7, 11)


def _write_csv(folder: Path) -> Path:
    path = folder / "progress.csv"
    with path.open("w") as file:
        file.write(",".join(NAMES) + "\n")
        for row, holes in _rows():
            cells = ["" if holes and i in HOLES else repr(value) for i, value in enumerate(row)]
            file.write(",".join(cells) + "\n")
    return path


def _write_jsonl(folder: Path) -> Path:
    path = folder / "metrics.jsonl"
    with path.open("w") as file:
        for row, holes in _rows():
            record = {NAMES[i]: value for i, value in enumerate(row) if not (holes and i in HOLES)}
            file.write(json.dumps(record) + "\n")
    return path


def _write_log(folder: Path) -> Path:
    path = folder / "train.log"
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for row in rng.standard_normal((LOG_LINES, len(LOG_NAMES))):
            file.write(f"{dict(zip(LOG_NAMES, row.tolist(), strict=True))}\n")
    return path


# --- readers ---------------------------------------------------------------------------------------------------------


def firstbreak_csv() -> Reader:
    from firstbreak.readers import csv

    return csv.read


def pandas_csv() -> Reader:
    import pandas

    def read(path: Path) -> list[np.ndarray]:
        frame = pandas.read_csv(path)
        return [frame[name].to_numpy() for name in frame]

    return read


def polars_csv() -> Reader:
    import polars

    return lambda path: [column.to_numpy() for column in polars.read_csv(path)]


def pyarrow_csv() -> Reader:
    from pyarrow import csv

    return lambda path: [column.to_numpy() for column in csv.read_csv(path).columns]


def firstbreak_jsonl() -> Reader:
    from firstbreak.readers import jsonl

    return jsonl.read


def polars_jsonl() -> Reader:
    import polars

    return lambda path: [column.to_numpy() for column in polars.read_ndjson(path)]


def orjson_jsonl() -> Reader:
    import orjson

    return lambda path: [orjson.loads(line) for line in path.read_bytes().splitlines()]


def firstbreak_console() -> Reader:
    from firstbreak.readers import console

    return console.read


def literal_eval_console() -> Reader:
    import ast

    def read(path: Path) -> dict[str, np.ndarray]:
        records = [ast.literal_eval(line) for line in path.read_text().splitlines() if line.startswith("{'")]
        return {name: np.array([record[name] for record in records]) for name in records[0]}

    return read
