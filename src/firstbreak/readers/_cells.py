"""Cells of text to numbers, in bulk.

The cells become one JSON array, which orjson reads several times faster than Python reads them one by one. JSON's
grammar of numbers is narrower than that of tables, so whatever it refuses goes a slower way.
"""

from array import array

import numpy as np
import orjson


def matrix(block: bytes, width: int, separator: str) -> tuple[np.ndarray, np.ndarray | None] | None:
    """A block of whole lines as (width, rows) floats, and the mask of its empty cells where there are any.

    None if there is anything but numbers, `nan` and empty cells, or a line with another number of cells.
    """
    if separator != ",":
        block = block.replace(b",", b"\x00").replace(separator.encode(), b",")
    cells = bytearray(b"[")
    cells += block
    raw = np.frombuffer(cells, dtype=np.uint8)
    newlines = raw == ord("\n")
    ends = np.flatnonzero(newlines | (raw == ord(",")))
    last = ends[width - 1 :: width]
    if not len(ends) or len(ends) % width or not newlines[last].all() or np.count_nonzero(newlines) > len(last):
        return None
    raw[last] = ord(",")
    raw[-1] = ord("]")
    empty = np.diff(ends, prepend=0) == 1
    if empty.any():
        places = ends[empty].tolist()
        cells = bytearray(b"0").join(cells[i:j] for i, j in zip([0, *places], [*places, len(cells)], strict=True))
    try:
        values = _numbers(cells).reshape(-1, width).T.copy()  # while it is in the cache
    except (ValueError, TypeError):
        return None
    return values, empty.reshape(-1, width).T if empty.any() else None


def column(cells: tuple[str, ...]) -> np.ndarray | None:
    """The numbers of one column; None if there is anything else."""
    try:
        values = np.array(orjson.loads(f"[{','.join(cells)}]"), dtype=float)
        if values.shape == (len(cells),) and not np.isnan(values).any():
            return values
    except (ValueError, TypeError):
        pass
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return None


def _numbers(cells: bytearray) -> np.ndarray:
    """A JSON array of numbers and nan. Raises ValueError or TypeError where there is anything else."""
    try:
        return np.frombuffer(array("d", orjson.loads(cells)))
    except orjson.JSONDecodeError:
        if b"nan" not in cells or b"null" in cells:
            raise
        return np.array(orjson.loads(cells.replace(b"nan", b"null")), dtype=float)
