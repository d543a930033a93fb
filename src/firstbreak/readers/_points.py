"""Points that arrive one by one, each with its own name, step and time, gathered into curves."""

from array import array
from collections import defaultdict

import numpy as np

from firstbreak.readers import Curve
from firstbreak.readers.budget import NAME, spend

_COUNTED = 3 * 1024  #: numbers that are counted together


class Points:
    """Curves by name, in order of first appearance."""

    def __init__(self) -> None:
        self._cells: dict[str, array[float]] = defaultdict(lambda: array("d"))

    def add(self, name: str, step: float, value: float, time: float) -> None:
        """Adds one point; `time` in unix seconds."""
        cells = self._cells[name]
        if not len(cells) % _COUNTED:
            spend(NAME if not cells else _COUNTED * cells.itemsize)
        cells.extend((step, value, time))

    def curves(self) -> dict[str, Curve]:
        """The curves."""
        return {name: _curve(np.array(cells).reshape(-1, 3)) for name, cells in self._cells.items()}


def _curve(table: np.ndarray) -> Curve:
    steps, values, times = np.ascontiguousarray(table.T)
    return Curve(index=steps, values=values, times=times)
