"""Each row has one advantage: a table of every return less every value is a matrix that was spread out by mistake."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

ROUNDING = 1e-4  #: relative


def measure(square: np.ndarray) -> Mapping[str, Reading]:
    """`square` (m, m): what was given as the advantages of m rows. spread_out: 1 where each entry is one number of its row plus
    one of its column, as (m,) - (m, 1) gives it."""
    rest = square - square[:1] - square[:, :1] + square[0, 0]
    spread = len(square) > 1 and float(np.abs(rest).max()) <= ROUNDING * float(np.abs(square).max())
    m = len(square)
    return {"spread_out": (1.0, f"the advantages of {m} rows have the shape ({m}, {m})") if spread else 0.0}
