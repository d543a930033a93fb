"""Small files that want much memory. Each is written for the number of bytes that it wants once it is decoded."""

import gzip
from collections.abc import Callable, Iterator
from itertools import chain, count, repeat
from pathlib import Path

import numpy as np

Write = Callable[[Path, int], Path]  #: (folder, bytes in memory) -> the bomb
_POINT = 16  #: bytes of a step and a value


def arrays(folder: Path, wanted: int) -> Path:
    """Bytes, which become numbers of eight times the size."""
    path = folder / "evaluations.npz"
    flat = np.zeros(wanted // 4 // _POINT, np.int8)
    np.savez_compressed(path, timesteps=flat, results=flat, ep_lengths=flat, successes=flat)
    return path


def one_array(folder: Path, wanted: int) -> Path:
    """One array, gzipped: the limit is on what was unpacked."""
    path = folder / "rewards.npy.gz"
    with gzip.open(path, "wb", 1) as file:
        np.save(file, np.zeros(wanted // _POINT, np.int8))
    return path


def table(folder: Path, wanted: int) -> Path:
    """A column of one number, which parquet keeps as the number and how often."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "history.parquet"
    batch = pa.table({name: np.zeros(1 << 16) for name in ("_step", "reward", "loss", "kl")})
    with pq.ParquetWriter(path, batch.schema, compression="zstd") as file:
        for _ in range(max(1, wanted // (4 * _POINT << 16))):
            file.write_table(batch)
    return path


def completions(folder: Path, wanted: int) -> Path:
    """One long completion, which parquet keeps once for all of its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "completions.parquet"
    text = pa.array(["a" * (wanted // 64)])
    rows = pa.DictionaryArray.from_arrays(pa.array(np.zeros(64, np.int32)), text)
    columns = {"prompt": ["p"] * 64, "completion": rows, "reward": [0.0] * 64, "step": [1] * 64}
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def records(folder: Path, wanted: int) -> Path:
    """A list of objects that are smaller on the disk than in memory."""
    return _packed(folder / "history.json.gz", chain(["["], repeat('{"reward":0},', wanted // 200), ['{"reward":1}]']))


def names(folder: Path, wanted: int) -> Path:
    """A new metric in every line."""
    return _packed(folder / "metrics.jsonl.gz", (f'{{"m{i}":0}}\n' for i in range(wanted // 1000)))


def lines(folder: Path, wanted: int) -> Path:
    """Many lines of a few numbers."""
    rows = chain(["step,reward,loss,kl\n"], (f"{i},1,1,1\n" for i in count()))
    return _packed(
        folder / "progress.csv.gz", (row for row, _ in zip(rows, range(wanted // (4 * _POINT)), strict=False))
    )


def hole(folder: Path, wanted: int) -> Path:
    """A file of which only the beginning lies on the disk."""
    path = folder / "history.json"
    with path.open("wb") as file:
        file.write(b'[{"step": 1, "reward": 2}, ')
        file.truncate(min(wanted // 8, (1 << 28) - 1))
    return path


BOMBS: dict[str, Write] = {
    write.__name__: write for write in (arrays, one_array, table, completions, records, names, lines, hole)
}


def _packed(path: Path, text: Iterator[str]) -> Path:
    with gzip.open(path, "wt", 1) as file:
        file.writelines(text)
    return path
