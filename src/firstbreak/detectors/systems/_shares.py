"""One phase of a step as a share of the whole step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.model import Series


def share(part: Series, whole: Series) -> Series:
    """part / whole at the steps that both have, where the whole is above 0; in [0, 1] unless phases overlap."""
    a, b = part.finite, whole.finite
    _, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    i, j = i[b.values[j] > 0], j[b.values[j] > 0]
    return replace(part, name=f"{part.name} share", steps=a.steps[i], values=a.values[i] / b.values[j])
