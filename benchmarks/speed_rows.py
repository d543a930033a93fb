"""What a diagnosis costs where a log is long or wide: processor time and peak memory of a fresh process.

    python -m benchmarks.speed_rows [--rows 10000 100000] [--wide]

The logs are made here: 7 columns, as CSV and as JSONL. `healthy` learns; in `broken` the reward falls and the KL divergence
rises from 60 % of the run on.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROWS = (10_000, 100_000, 1_000_000)
BREAK = 0.6  #: share of the run after which it breaks
FORMATS = ("csv", "jsonl")
WIDE = (6_000, 20)  #: columns and rows of the widest log


def columns(rows: int, *, broken: bool) -> dict[str, np.ndarray]:
    """Name -> values of each row; the same numbers at each call."""
    random = np.random.default_rng(rows)
    x = np.arange(rows) / rows
    since = np.clip((x - BREAK) / (1 - BREAK), 0, 1) if broken else np.zeros(rows)
    fallen = np.clip(since * 8, 0, 1)  # the fall itself takes an eighth of what is left of the run
    learned = 1 - np.exp(-4 * x)
    return {
        "step": np.arange(rows, dtype=float),
        "reward": 0.2 + 0.6 * learned - 0.65 * fallen + random.normal(0, 0.05, rows),
        "kl": 0.01 + 0.04 * learned + 2.0 * fallen + np.abs(random.normal(0, 0.004, rows)),
        "entropy": 1.2 - 0.5 * learned + random.normal(0, 0.03, rows),
        "loss": 0.05 - 0.03 * learned + random.normal(0, 0.01, rows),
        "grad_norm": np.exp(random.normal(-0.7, 0.2, rows)),
        "learning_rate": 1e-5 * (1 - x),
    }


def wide(series: int, rows: int) -> dict[str, np.ndarray]:
    """A log of many short curves: what one run with a reward of its own for each task writes."""
    random = np.random.default_rng(series)
    usual = columns(rows, broken=False)
    return usual | {f"rewards/task_{i:05d}/mean": random.normal(0.5, 0.05, rows) for i in range(series - len(usual))}


def write(table: Mapping[str, np.ndarray], path: Path) -> None:
    """Write the table in the format that the suffix names."""
    names = list(table)
    lines = zip(*([f"{value:.6g}" for value in column] for column in table.values()), strict=True)
    with path.open("w") as out:
        if path.suffix == ".csv":
            out.write(",".join(names) + "\n")
            out.writelines(",".join(line) + "\n" for line in lines)
        else:
            keys = [f'"{name}": ' for name in names]
            out.writelines("{" + ", ".join(map("".join, zip(keys, line, strict=True))) + "}\n" for line in lines)


def measure(path: Path) -> dict[str, Any]:
    """Processor time in seconds, peak memory in MB and onset of one diagnosis in a fresh process."""
    command = [sys.executable, "-m", "firstbreak", "diagnose", str(path), "--format", "json", "--fail-on", "never"]
    with tempfile.TemporaryFile() as out:
        # without OpenBLAS's own threads, which cost processor time while they wait
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        streams = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        process = os.posix_spawn(command[0], command, environment, file_actions=streams)
        _, status, used = os.wait4(process, 0)
        if os.waitstatus_to_exitcode(status):
            raise RuntimeError(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
        out.seek(0)
        first = json.load(out)["first_break"]
    peak = used.ru_maxrss / 1024 if sys.platform != "darwin" else used.ru_maxrss / 1024**2
    return {
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(peak),
        "onset": None if first is None else first["step"],
    }


def both(table: Callable[[], Mapping[str, np.ndarray]], folder: Path, repeats: int = 1) -> dict[str, Any]:
    """The worse of the two formats, and each of them: the least of `repeats` for the processor time.

    Another process makes the table: a process that is started counts the memory of the one that starts it as its own.
    """
    found: dict[str, dict[str, Any]] = {}
    for format_ in FORMATS:
        path = folder / f"log.{format_}"
        with ProcessPoolExecutor(1) as pool:
            pool.submit(_made, table, path).result()
        found[format_] = min((measure(path) for _ in range(repeats)), key=lambda one: float(one["cpu_s"]))
        path.unlink()
    worst = {key: max(float(one[key]) for one in found.values()) for key in ("cpu_s", "peak_mb")}
    return {**worst, **found}


def _made(table: Callable[[], Mapping[str, np.ndarray]], path: Path) -> None:
    write(table(), path)


def results(rows: Sequence[int] = ROWS) -> dict[str, Any]:
    """`rows.{rows}.{healthy,broken}`, and `wide`."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in rows:
            found[str(n)] = {}
            for kind in ("healthy", "broken"):
                table = functools.partial(columns, n, broken=kind == "broken")
                found[str(n)][kind] = both(table, Path(folder), repeats=3 if n < max(ROWS) else 1)
                print(n, kind, found[str(n)][kind], file=sys.stderr)
        many = {"series": WIDE[0], "points": WIDE[1], **both(functools.partial(wide, *WIDE), Path(folder))}
    return {"rows": found, "wide": many}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    print(json.dumps(results(parser.parse_args().rows), indent=1))


if __name__ == "__main__":
    main()
