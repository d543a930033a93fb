"""Parquet: completions that TRL logs, and tables of metrics (wandb's history artifact, Trackio's export).

Needs pyarrow. A parquet file ends with its table of contents, so it cannot be read before its writer closes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.model import Sample
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import Columns
from firstbreak.readers._samples import PART, Span, samples_of, shape_of
from firstbreak.readers.opening import open_file

DESCRIPTION = "Parquet: TRL completions, wandb history, Trackio export (needs the parquet extra)"
FILES, HEADS = ("*.parquet",), (b"PAR1",)

_ROWS = 1 << 14
_BATCH = 1 << 21  # cells of numbers
_SAMPLES = 64  # rows of text, which may be megabytes each
_AT_ONCE = 1 << 27  # bytes of rows of text
_MOST = 1 << 28  # bytes of a row group that is packed more tightly than text can be
_TIGHTLY = 100


def sniff(path: Path, head: bytes) -> bool:
    """The format's mark; a file that ends in .parquet and is empty is not written yet."""
    return head.startswith(HEADS) or (path.suffix == ".parquet" and not head)


def read(path: Path, resume: Any = None) -> Recording:
    """The columns of numbers, with the row as index; or, where the rows are completions, that there are samples."""
    recording = Recording(format="parquet")
    with opened(path) as file:
        if shape_of(file.schema_arrow.names):
            recording.has_samples = file.metadata.num_rows > 0
            return recording
        columns, row = Columns(), 0
        for batch in file.iter_batches(max(1, min(_ROWS, _BATCH // max(1, len(file.schema_arrow.names))))):
            index = np.arange(row, row + len(batch), dtype=float)
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                _add(columns, name, column, index)
            row += len(batch)
    recording.curves, recording.config, recording.notes = columns.curves(), columns.constants(), columns.notes()
    return recording


def samples(path: Path, span: Span | None = None) -> Iterator[Sample]:
    """Every completion, or those of a span of row groups."""
    return samples_of(rows(path, span), path)


def parts(path: Path) -> list[Span]:
    """Row groups, some megabytes together: the smallest part of a file that can be read on its own."""
    with opened(path) as file:
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
    place = [int(end - size) // PART for size, end in zip(sizes, accumulate(sizes), strict=True)]
    starts = [i for i in range(len(sizes)) if not i or place[i] != place[i - 1]]
    return list(pairwise([*starts, len(sizes)]))


def rows(path: Path, span: Span | None = None) -> Iterator[dict[str, Any]]:
    """The rows, a few in memory at a time."""
    with opened(path) as file:
        for group in range(file.num_row_groups) if span is None else range(*span):
            for batch in file.iter_batches(_together(file.metadata.row_group(group), path), row_groups=[group]):
                yield from batch.to_pylist()


def _together(group: Any, path: Path) -> int:
    """Rows that are read together. Each may be as large as all of its group: a text that repeats is kept once.

    The sizes are those of the group: pyarrow ends the process where the facts of a single column are damaged.
    """
    size = max(int(group.total_byte_size), 8 * int(group.num_rows) * int(group.num_columns))
    if size > max(_MOST, _TIGHTLY * path.stat().st_size):
        raise Unreadable(path, f"a row group decodes to {size >> 20} MiB", "write it in smaller row groups")
    return max(1, min(_SAMPLES, _AT_ONCE // max(1, size)))


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise Unreadable(path, "is a parquet file", "install pyarrow: pip install 'firstbreak[parquet]'") from None
    try:
        with open_file(path) as raw, pq.ParquetFile(raw) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        closed = (
            "wait until its writer has closed it"
            if "footer" in reason.lower() or "size is" in reason
            else "copy it again"
        )
        raise Unreadable(path, f"is no whole parquet file ({reason})", closed) from None


def _add(columns: Columns, name: str, column: Any, index: np.ndarray) -> None:
    """Adds one column of a batch; numbers without a detour over Python objects."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        columns.add_column(name, column.to_pylist(), index)
        return
    present = ~column.is_null().to_numpy(zero_copy_only=False)
    columns.extend(name, index[present], column.drop_null().to_numpy(zero_copy_only=False).astype(float))
