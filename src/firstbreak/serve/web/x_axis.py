"""What a curve is drawn over instead of its own steps: tokens, time or another curve, as far as the run records them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from firstbreak.model import Run, Series
from firstbreak.values import replace
from firstbreak.words import axis_word

AXES = {"tokens": "tokens", "time": "hours"}  #: axis -> its unit
HOUR = 3600.0


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
