"""Rows of a data set: JSON lines, JSON, CSV, Parquet, or a data set that Hugging Face datasets saved to disk."""

import csv
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from firstbreak.readers import Unreadable
from firstbreak.readers._json import loads

Row = dict[str, Any]
MAX_ROWS = 200_000  #: rows that are read (convention)
REMEDY = "give JSON lines, JSON, CSV, Parquet, or a folder that save_to_disk wrote"


def rows(path: str) -> list[Row]:
    """At most MAX_ROWS rows. Raises Unreadable where there is nothing that holds rows."""
    place = Path(path)
    found = list(islice(_read(place), MAX_ROWS))
    if not found:
        raise Unreadable(path, "holds no rows", REMEDY)
    return found


def _read(place: Path) -> Iterator[Row]:
    if place.is_dir():
        return _folder(place)
    if not place.is_file():
        raise Unreadable(place, "no such file or folder", REMEDY)
    match place.suffix.lower():
        case ".jsonl" | ".ndjson":
            return json_lines(place)
        case ".json":
            return _json(place)
        case ".csv" | ".tsv":
            return csv_rows(place)
        case ".parquet" | ".arrow":
            return _arrow(place)
    raise Unreadable(place, f"a {place.suffix or 'nameless'} file holds no rows that firstbreak knows", REMEDY)


def _folder(folder: Path) -> Iterator[Row]:
    """All shards of one split; of a dictionary of splits the one called train."""
    if (folder / "train").is_dir():
        folder = folder / "train"
    shards = sorted(p for pattern in ("*.arrow", "*.parquet", "*.jsonl") for p in folder.glob(pattern))
    if not shards:
        raise Unreadable(folder, "holds no .arrow, .parquet or .jsonl file", REMEDY)
    for shard in shards:
        yield from _read(shard)


def json_lines(place: Path) -> Iterator[Row]:
    """The objects of a file with one JSON object on each line."""
    with place.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    row = loads(line)
                except ValueError as error:
                    raise Unreadable(place, f"no JSON ({error})", "mend or remove the line", str(number)) from None
                yield _mapping(row, place, number)


def _json(place: Path) -> Iterator[Row]:
    try:
        tree = loads(place.read_bytes())
    except ValueError as error:
        raise Unreadable(place, f"no JSON ({error})", "correct the file") from None
    if isinstance(tree, dict):  # {"data": [...]}
        tree = next((value for value in tree.values() if isinstance(value, list)), [])
    for number, row in enumerate(tree if isinstance(tree, list) else [], 1):
        yield _mapping(row, place, number)


def _mapping(row: Any, place: Path, number: int) -> Row:
    if not isinstance(row, dict):
        raise Unreadable(place, f"a row is a {type(row).__name__}", "write one JSON object for each row", str(number))
    return row


def csv_rows(place: Path) -> Iterator[Row]:
    """The rows of comma-separated values, or of tab-separated ones."""
    csv.field_size_limit(min(sys.maxsize, 1 << 30))
    with place.open(newline="", encoding="utf-8", errors="replace") as file:
        yield from csv.DictReader(file, delimiter="\t" if place.suffix.lower() == ".tsv" else ",")


def _arrow(place: Path) -> Iterator[Row]:
    """Parquet, or an Arrow stream, which is what save_to_disk writes."""
    of_parquet = place.suffix.lower() == ".parquet"
    try:
        from pyarrow import ArrowException, ipc, parquet  # type: ignore[import-untyped]
    except ImportError:
        what = "Parquet" if of_parquet else "Arrow"
        raise Unreadable(place, f"{what} needs pyarrow", "install `firstbreak[parquet]`") from None
    try:
        with place.open("rb") as file:
            for batch in parquet.ParquetFile(file).iter_batches(4096) if of_parquet else ipc.open_stream(file):
                yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        what, remedy = ("Parquet", "write the file") if of_parquet else ("Arrow stream", "save the data set")
        raise Unreadable(place, f"no {what} ({error})", f"{remedy} again") from None
