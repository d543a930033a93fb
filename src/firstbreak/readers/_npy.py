"""One array in NumPy's own format, without pickle and without believing what the header claims.

Source: numpy/lib/_format_impl.py
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from firstbreak.readers import Unreadable

MAX_BYTES = 1 << 28  # of one array: 30 million numbers are no learning curve


def read_array(file: IO[bytes], size: int, path: Path, place: str) -> np.ndarray:
    """The float64 array in the next `size` bytes. Raises Unreadable, naming `place`, where there is none."""
    try:
        version = npy.read_magic(file)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, dtype = header(file)
        count = math.prod(shape)
        wanted = count * dtype.itemsize
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, EOFError):
        raise Unreadable(path, "no NumPy array", "write it again with numpy.save", place) from None
    if dtype.hasobject:
        raise Unreadable(path, "pickled objects are never loaded", "save plain numbers with numpy.save", place)
    if dtype.kind not in "fiub":
        raise Unreadable(path, f"holds {dtype}, no numbers", "save plain numbers with numpy.save", place)
    if wanted > MAX_BYTES:
        raise Unreadable(path, f"claims {wanted >> 20} MiB", f"arrays up to {MAX_BYTES >> 20} MiB are read", place)
    if wanted > size:
        raise Unreadable(path, "is cut or being rewritten", "try again when the writer is done", place)
    data = file.read(wanted)
    if len(data) < wanted:
        raise Unreadable(path, "is cut or being rewritten", "try again when the writer is done", place)
    array = np.frombuffer(data, dtype=dtype, count=count)
    return array.astype(np.float64).reshape(shape, order="F" if columns_first else "C")
