"""The part of a curve that a screen shows: all points where they fit, else the lowest and highest value of each column."""

from typing import Any

import numpy as np

from firstbreak.model import Series
from firstbreak.reports.curves import thin


def window(series: Series, points: int, start: float = -np.inf, end: float = np.inf) -> dict[str, Any]:
    """Steps and values between `start` and `end`, with one more point on each side, so that the line reaches the border.

    At most `points` points are returned unchanged (`exact` says so). More points are thinned, and spikes are kept. A value
    that is not finite is NaN: the line has a gap there.
    """
    first = max(0, int(np.searchsorted(series.steps, start, side="left")) - 1)
    last = int(np.searchsorted(series.steps, end, side="right")) + 1
    shown = Series(name=series.name, steps=series.steps[first:last], values=series.values[first:last])
    exact = len(shown) <= points
    steps, values = (shown.steps, shown.values) if exact else _joined(thin(shown, points))
    return {
        "steps": steps,
        "values": np.where(np.isfinite(values), values, np.nan),
        "exact": exact,
        "kind": series.axis,
        "total": len(shown),
    }


def _joined(pieces: list[Series]) -> tuple[np.ndarray, np.ndarray]:
    """The pieces as one curve, with a NaN before each, which parts it from the one before it."""
    steps = [part for piece in pieces for part in (piece.steps[:1], piece.steps)]
    values = [part for piece in pieces for part in ([np.nan], piece.values)]
    return (np.concatenate(steps)[1:], np.concatenate(values)[1:]) if pieces else (np.empty(0), np.empty(0))
