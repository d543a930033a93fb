"""Every metric of a live run, over the whole run, in memory that does not grow with the length of the run.

A curve has at most CAPACITY points. When a curve is full, every second point is dropped. From then on, only every second,
fourth, ... new value is stored. The points are always evenly spaced over the run, as detectors expect. Each point is a
value that was really logged; means of neighbours would reduce the noise that detectors measure. A value that is not finite
is evidence and replaces its neighbour. In addition, the last RECENT steps are stored completely.
"""

import math
from array import array
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.readers import Curve

CAPACITY = 4096  #: points of one curve; even
RECENT = 256  #: steps stored completely
MOST_METRICS = 1000  #: largest number of names; names that contain the step would fill the memory


class Thinned:
    """One curve."""

    __slots__ = ("_seen", "steps", "stride", "values")

    def __init__(self) -> None:
        self.steps, self.values = array("d"), array("d")
        self.stride = 1
        self._seen = 0

    def add(self, step: float, value: float) -> None:
        """Store a value, or skip it."""
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
        """A copy of the stored points."""
        return Curve(index=np.array(self.steps), values=np.array(self.values))


class MetricHistory:
    """All curves, and the last steps as they were logged."""

    def __init__(self) -> None:
        self.thinned: dict[str, Thinned] = {}
        self.recent: deque[tuple[float, dict[str, float]]] = deque(maxlen=RECENT)
        self.points = 0  #: steps observed

    def add(self, step: float, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Store the metrics of one step. Returns those that are numbers."""
        numbers: dict[str, float] = {}
        for name, value in metrics.items():
            if value.__class__ is not float:
                value = number(value)
                if value is None:
                    continue
            name = name if name.__class__ is str else str(name)
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
    """A logged value as a number (also from numpy and torch scalars). None if it is not a number."""
    if value is None or isinstance(value, str | bytes):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # RuntimeError: a tensor of several elements
        return None
