"""Curves for the page: the part that a screen shows, what it is drawn over, and all of them as CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.model import Run, Series
from firstbreak.reports.curves import thin
from firstbreak.values import replace
from firstbreak.words import axis_word

AXES = {"tokens": "tokens", "time": "hours"}  #: what a curve can be drawn over instead of its own steps -> its unit
HOUR = 3600.0
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  #: what a spreadsheet would calculate


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


def on_axis(run: Run, series: Series, axis: str) -> Series | None:
    """The curve over `axis`, which is a key of `AXES` or the name of another curve as JSON: its points where the run records it.

    None where it does not. A curve that rises and falls gives points in the order of its values, not of time.
    """
    ruler = RULER[axis](run) if axis in RULER else _curve(run, axis)
    if ruler is None or ruler.axis != series.axis or not len(series):
        return None
    inside = series.between(float(ruler.steps[0]), float(ruler.steps[-1]))
    places = np.interp(inside.steps, ruler.steps, ruler.values)
    order = np.argsort(places, kind="stable")
    return replace(inside, steps=places[order], values=inside.values[order])


def axes(runs: Sequence[Run], names: Iterable[str]) -> list[tuple[str, str, bool]]:
    """(key, name, whether all runs can be drawn over it) of their own steps, tokens and time, and the curves of these names."""
    kinds = {run.axis for run in runs}
    steps = f"{axis_word(kinds.pop())}s" if len(kinds) == 1 else "the steps of each run"
    rest = [(axis, word, all(RULER[axis](run) is not None for run in runs)) for axis, word in AXES.items()]
    return [("", steps, True), *rest, *((json.dumps(name), name, True) for name in names)]


def _curve(run: Run, axis: str) -> Series | None:
    try:
        name = json.loads(axis)
    except ValueError:
        return None
    found = run.series.get(name, run.unknown.get(name))
    return found.finite if found is not None and len(found.finite) else None


def _hours(run: Run) -> Series | None:
    """Hours since the start: as logged, or added up from the time of each step."""
    elapsed, unix, step = (run.series.get(f"time.{name}") for name in ("elapsed", "unix", "step"))
    for curve in (elapsed, unix):
        if (rising := _rising(curve)) is not None:
            start = rising.values[0] if curve is unix else 0.0
            return replace(rising, values=(rising.values - start) / HOUR)
    if step is None or len(step.finite) < 2 or bool((step.finite.values < 0).any()):
        return None
    return replace(step.finite, values=np.cumsum(step.finite.values) / HOUR)


def _rising(curve: Series | None) -> Series | None:
    """The curve without what falls back, where it rises at all."""
    if curve is None or len(curve.finite) < 2:
        return None
    high = np.maximum.accumulate(curve.finite.values)
    return replace(curve.finite, values=high) if high[-1] > high[0] else None


RULER: Mapping[str, Callable[[Run], Series | None]] = {
    "tokens": lambda run: _rising(run.series.get("tokens.total")),
    "time": _hours,
}


def as_csv(run: Run) -> str:
    """Kind of step, step, and every metric by its own name. A cell is empty where a step has no value."""
    curves = {**run.series, **run.unknown}
    rows: dict[tuple[str, float], list[str]] = {}
    for place, series in enumerate(curves.values()):
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            rows.setdefault((series.axis, step), [""] * len(curves))[place] = repr(value)
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["axis", "step", *(_harmless(name) for name in curves)])
    writer.writerows([axis, np.format_float_positional(at, trim="-"), *rows[axis, at]] for axis, at in sorted(rows))
    return file.getvalue()


def _harmless(name: str) -> str:
    name = name.encode("utf-8", "backslashreplace").decode()
    return f"'{name}" if name.startswith(_FORMULA) else name
