"""What a curve is drawn over instead of its own steps: tokens or time, as far as the run records them."""

from collections.abc import Callable, Mapping

import numpy as np

from firstbreak.model import Run, Series
from firstbreak.values import replace

AXES = {"tokens": "tokens", "time": "hours"}  #: axis -> its unit
HOUR = 3600.0


def on_axis(run: Run, series: Series, axis: str) -> Series | None:
    """The curve over `axis`: its points where the run tells how far it was. None where it does not tell."""
    ruler = RULER[axis](run)
    if ruler is None or ruler.axis != series.axis or not len(series):
        return None
    inside = series.between(float(ruler.steps[0]), float(ruler.steps[-1]))
    return replace(inside, steps=np.interp(inside.steps, ruler.steps, ruler.values), axis=axis)


def _tokens(run: Run) -> Series | None:
    return _rising(run.series.get("tokens.total"))


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


RULER: Mapping[str, Callable[[Run], Series | None]] = {"tokens": _tokens, "time": _hours}
