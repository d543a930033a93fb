"""Every metric of a live run, over the whole run, in memory that does not grow with its length.

A curve holds at most CAPACITY points. When it is full, every second point is dropped, and from then on only every second,
fourth, ... new one is taken. So the points always lie evenly over the entire run, as a detector expects them, and each
is a value that was really logged: means of neighbours would shrink the noise that detectors measure. A value that is not
finite is evidence and takes the place of the point it stands next to. The last RECENT steps are kept in full besides.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.readers import Curve

CAPACITY = 4096  #: points of one curve; even
RECENT = 256  #: steps kept whole
MOST_METRICS = 1000  #: names beyond these are not kept: a name that holds the step would fill any memory


class Thinned:
    """One curve."""

    __slots__ = ("_seen", "steps", "stride", "values")

    def __init__(self) -> None:
        self.steps, self.values = array("d"), array("d")
        self.stride = 1
        self._seen = 0

    def add(self, step: float, value: float) -> None:
        """Take a value in, or pass it over."""
        if self._seen % self.stride == 0:
            self.steps.append(step)
            self.values.append(value)
            if len(self.values) >= CAPACITY:
                self._thin()
        elif not math.isfinite(value):
            self.steps[-1], self.values[-1] = step, value
        self._seen += 1

    def _thin(self) -> None:
        steps, values = np.array(self.steps).reshape(-1, 2), np.array(self.values).reshape(-1, 2)
        rows = np.arange(len(values))
        kept = np.where(np.isfinite(values[:, 1]), 0, 1)
        self.steps, self.values = array("d", steps[rows, kept]), array("d", values[rows, kept])
        self.stride *= 2

    def curve(self) -> Curve:
        """A copy of the points so far."""
        return Curve(index=np.array(self.steps), values=np.array(self.values))


class History:
    """All curves, and the last steps as they were logged."""

    def __init__(self) -> None:
        self.thinned: dict[str, Thinned] = {}
        self.recent: deque[tuple[float, dict[str, float]]] = deque(maxlen=RECENT)
        self.points = 0  #: steps observed

    def add(self, step: float, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Keep one step's metrics; those of them that are numbers."""
        numbers: dict[str, float] = {}
        for name, value in metrics.items():
            if value.__class__ is not float:
                value = number(value)
                if value is None:
                    continue
            numbers[name] = value
            thinned = self.thinned.get(name)
            if thinned is None:
                if len(self.thinned) >= MOST_METRICS:
                    continue
                thinned = self.thinned[name] = Thinned()
            thinned.add(step, value)
        self.recent.append((step, numbers))
        self.points += 1
        return numbers

    def curves(self) -> dict[str, Curve]:
        """A copy of every curve."""
        return {name: thinned.curve() for name, thinned in self.thinned.items()}


def number(value: Any) -> float | None:
    """What a logged value is as a number (numpy and torch scalars included); None where it is none."""
    if value is None or isinstance(value, str | bytes):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # RuntimeError: a tensor of several elements
        return None
