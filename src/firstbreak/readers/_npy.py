"""One array in NumPy's own format, without pickle and without believing what the header claims.

The header is matched, not evaluated. Source: numpy/lib/format.py ("Format Version 1.0")
"""

import math
import re
import struct
from pathlib import Path
from typing import IO

import numpy as np

from firstbreak.readers import Unreadable
from firstbreak.readers.budget import spend

MAGIC = b"\x93NUMPY"
MAX_BYTES = 1 << 28  # of one array: 30 million numbers are no learning curve
_MAX_HEADER = 1 << 16
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|=][A-Za-z]\d*)', 'fortran_order': (?P<columns>True|False),"
    rb" 'shape': \((?P<shape>[\d, ]*)\), \}\s*"
)


def read_array(file: IO[bytes], size: int, path: Path, place: str) -> np.ndarray:
    """The float64 array in the next `size` bytes. Raises Unreadable, naming `place`, where there is none."""
    header = _HEADER.fullmatch(_header(file))
    if header is None:
        raise Unreadable(path, "no plain NumPy array", "save numbers with numpy.save", place)
    try:
        dtype = np.dtype(header["dtype"].decode())
    except TypeError:
        raise Unreadable(path, "no plain NumPy array", "save numbers with numpy.save", place) from None
    if dtype.hasobject:
        raise Unreadable(path, "pickled objects are never loaded", "save plain numbers with numpy.save", place)
    if dtype.kind not in "fiub":
        raise Unreadable(path, f"holds {dtype}, no numbers", "save plain numbers with numpy.save", place)
    shape = tuple(int(length) for length in re.findall(rb"\d{1,18}", header["shape"]))
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > MAX_BYTES:
        raise Unreadable(path, f"claims {wanted >> 20} MiB", f"arrays up to {MAX_BYTES >> 20} MiB are read", place)
    data = file.read(wanted) if wanted <= size else b""
    if len(data) < wanted:
        raise Unreadable(path, "is cut or being rewritten", "try again when the writer is done", place)
    spend(8 * math.prod(shape))
    array = np.frombuffer(data, dtype=dtype).astype(np.float64)
    return array.reshape(shape, order="F" if header["columns"] == b"True" else "C")


def _header(file: IO[bytes]) -> bytes:
    """The header's text, empty where there is none."""
    magic = file.read(8)
    if magic[:6] != MAGIC or len(magic) < 8:
        return b""
    field = "<H" if magic[6] == 1 else "<I"
    length = file.read(struct.calcsize(field))
    if len(length) < struct.calcsize(field):
        return b""
    return file.read(min(struct.unpack(field, length)[0], _MAX_HEADER))
