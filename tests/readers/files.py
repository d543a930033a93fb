"""Small files for the tests of readers."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from firstbreak.readers import Recording
from firstbreak.readers.opening import head_of, plain


@contextmanager
def file_of(data: bytes | str, name: str) -> Iterator[Path]:
    """A file of that name (which may hold folders) in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        yield path


def read(reader: ModuleType, data: bytes | str, name: str, resume: Any = None) -> Recording:
    """What the reader makes of the data; the reader must claim the file first."""
    with file_of(data, name) as path:
        assert reader.sniff(plain(path), head_of(path)), f"{reader.__name__} does not claim {name}"
        return reader.read(path, resume)


def points(recording: Recording, name: str) -> list[tuple[float, float]]:
    """(index, value) of a curve, NaN written as the text "nan" so that lists compare."""
    curve = recording.curves[name]
    return [(i, "nan" if np.isnan(v) else v) for i, v in zip(curve.index.tolist(), curve.values.tolist(), strict=True)]


def values(recording: Recording, name: str) -> list[float]:
    """The values of a curve, NaN written as the text "nan"."""
    return [value for _, value in points(recording, name)]
