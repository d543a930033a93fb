"""A bound on importance weights that never acts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.model import Series
from firstbreak.stats.onset import first_sustained


def unbound(largest: Series, bounded: Series, limit: float, *, most: float, least: int) -> tuple[float, float] | None:
    """Since when, and in which share of the points, the largest weight passes `limit` while the share of bounded ones is 0.

    Of the points beyond the limit, `most` from that step on and `least` in all; None where there are not so many.
    """
    beyond = largest.values > limit
    share = np.interp(largest.steps, bounded.steps, bounded.values)[beyond]
    idle = replace(largest, steps=largest.steps[beyond], values=(share == 0).astype(float))
    since = first_sustained(idle, lambda values: values > 0, least, most) if len(idle) >= least else None
    if since is None or (lasting := float(idle.between(since).values.mean())) < most:
        return None
    return since, lasting
