"""Intervals of a share."""

import math

from firstbreak.engine.stats.normal import quantile
from firstbreak.model import Interval


def wilson(hits: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of hits / n; (0, 1) where n is 0.

    Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.
    """
    if n == 0:
        return 0.0, 1.0
    z = quantile((1 + level) / 2)
    share, z2 = hits / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
