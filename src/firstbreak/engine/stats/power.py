"""What a curve cannot show: the change that its own noise hides."""

import math

import numpy as np

from firstbreak.engine.stats.memo import once_a_curve
from firstbreak.engine.stats.noise import effective_size, neighbours
from firstbreak.engine.stats.points import points
from firstbreak.model import Series

MIN_POINTS = 4  #: points: fewer tell no noise from a course
FOUND = 1.96 + 0.84  #: standard errors: at 5 % false alarms, a change of so many is found in 80 % of the curves


@once_a_curve
def hidden(curve: Series | np.ndarray) -> float | None:
    """The smallest lasting change in the middle of a curve that a test of its two halves finds four times in five; None where
    the curve has too few points.

    In units of the curve. No check sees smaller ones reliably; one elsewhere, or one that has to be told from a course, must be
    larger. The noise is taken to be AR(1), and normal.
    """
    _, values = points(curve)
    if len(values) < MIN_POINTS:
        return None
    sd, rho = neighbours(values)
    half = effective_size(len(values), rho) / 2
    return FOUND * sd * math.sqrt(2 / max(half, 1.0))
