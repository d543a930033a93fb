"""A bound on importance weights that never acts."""

import numpy as np

from firstbreak.engine.stats.onset import first_sustained
from firstbreak.model import Series
from firstbreak.values import replace


def unbound(
    largest: Series, bounded: Series, limit: float, *, min_share: float, min_points_beyond: int
) -> tuple[float, float] | None:
    """Since when, and in which share of the points, the largest weight passes `limit` while the share of bounded ones is 0.

    `min_points_beyond` points must lie beyond the limit, and from the returned step on nothing is bounded in `min_share`
    of them; None where there are fewer.
    """
    beyond = largest.values > limit
    share = np.interp(largest.steps, bounded.steps, bounded.values)[beyond]
    idle = replace(largest, steps=largest.steps[beyond], values=(share == 0).astype(float))
    enough = len(idle) >= min_points_beyond
    since = first_sustained(idle, lambda values: values > 0, min_points_beyond, min_share) if enough else None
    if since is None or (lasting := float(idle.between(since).values.mean())) < min_share:
        return None
    return since, lasting
