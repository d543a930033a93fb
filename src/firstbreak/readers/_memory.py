"""Numbers that a program holds -> a recording: a list of records, a dict of columns, a DataFrame.

They are read as lines of a JSON log are. An empty cell of a DataFrame is NaN, and so is a number that is lost: NaN counts in
a column without gaps, from its last finite value on, in rows that hold such a column besides.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import COUNTERS, as_float
from firstbreak.readers.jsonl import _Log

REMEDY = (
    "give a path, a list of records ([{'step': 0, 'reward': 0.1}, ...]), a dict of columns "
    "({'step': [0, 1], 'reward': [0.1, 0.2]}) or a DataFrame"
)


def recording(given: Any) -> Recording:
    """The curves of what is given. Raises `Unreadable` where it holds no records."""
    records = _records(given)
    log = _Log()
    log.add("".join(f"{json.dumps(record, default=_plain)}\n" for record in records).encode())
    found = log.recording()
    found.format = "memory"
    return found


def called(given: Any) -> str:
    """What the run is called, as it has no path."""
    return f"a {type(given).__name__} in memory"


def _records(given: Any) -> list[Mapping[str, Any]]:
    if hasattr(given, "columns") and hasattr(given, "to_dict"):
        return _of_frame(given)
    if isinstance(given, Mapping):
        columns = {str(name): values for name, values in given.items()}
        lengths = {len(v) if hasattr(v, "__len__") and not isinstance(v, str) else None for v in columns.values()}
        if len(lengths) == 1 and None not in lengths:
            return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        raise Unreadable(called(given), "its columns differ in length, or are no columns", REMEDY)
    if isinstance(given, (list, tuple)) and given and all(isinstance(record, Mapping) for record in given):
        return list(given)
    raise Unreadable(called(given), "holds no records", REMEDY)


def _of_frame(frame: Any) -> list[Mapping[str, Any]]:
    """The rows without their empty cells."""
    if getattr(getattr(frame, "index", None), "name", None) is not None:
        frame = frame.reset_index()
    columns = {str(name): list(frame[name]) for name in frame.columns}
    finite = {name: np.array([not _is_empty(cell) for cell in cells]) for name, cells in columns.items()}
    #: without a gap before its last finite value
    whole = {name for name, there in finite.items() if there.any() and there[: there.sum()].all()}
    measured = {name for name in columns if name.lower() not in COUNTERS}

    def holds(name: str, row: int) -> bool:
        others = {other for other in measured - {name} if finite[other][row]}
        lost = name in whole and columns[name][row] is not None and (not others or others & whole)
        return bool(finite[name][row] or lost)

    rows = len(next(iter(columns.values()), []))
    return [{name: cells[row] for name, cells in columns.items() if holds(name, row)} for row in range(rows)]


def _is_empty(cell: Any) -> bool:
    """None or NaN; an infinity is a number that was logged."""
    return cell is None or (isinstance(cell, (float, np.floating)) and bool(np.isnan(cell)))


def _plain(value: Any) -> Any:
    """A number of another library as one of Python's, anything else as text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    try:
        return as_float(value)
    except (TypeError, ValueError):
        return str(value)
