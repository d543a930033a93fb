"""One phase of a step as a share of the whole step, and whether it takes over."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.stats.onset import onset
from firstbreak.stats.trend import trend


@dataclass(frozen=True)
class Share:
    """A share at the end of the run beside its own past."""

    before: float  #: median of the first half
    now: float  #: median of the last quarter
    grown: bool
    onset: float | None = None
    interval: Interval | None = None


def share(part: Series, whole: Series) -> Series:
    """part / whole at the steps that both have, where the whole is above 0; in [0, 1] unless phases overlap."""
    a, b = part.finite, whole.finite
    _, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    i, j = i[b.values[j] > 0], j[b.values[j] > 0]
    return replace(part, name=f"{part.name} share", steps=a.steps[i], values=a.values[i] / b.values[j])


def against_past(shares: Series, least: float) -> Share:
    """The share now, and whether it has grown by `least` or more, beyond its noise."""
    before, now = float(np.median(shares.head(0.5).values)), float(np.median(shares.tail(0.25).values))
    if now - before < least:
        return Share(before, now, grown=False)
    if began := onset(shares, direction=1, kinds=("level", "ramp")):
        return Share(before, now, True, began.step, began.interval)
    return Share(before, now, grown=trend(shares).rising)
