"""Every number of an update is finite; the first one that is not is named."""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.inside.batch import Reading


def measure(stages: Mapping[str, bool]) -> Mapping[str, Reading]:
    """`stages`: what was computed, in this order, and whether it is finite."""
    broken = [name for name, finite in stages.items() if not finite]
    return {"nonfinite": (float(len(broken)), f"{broken[0]} is the first that is not finite") if broken else 0.0}
