"""The completions of a group belong to one prompt."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import members, row
from firstbreak.live.recorder.measuring import Reading


def measure(prompts: Sequence[str], group: float | Sequence[str] | np.ndarray) -> Mapping[str, Reading]:
    """The share of groups with completions of several prompts."""
    groups = members(group, len(prompts))
    mixed = [rows for rows in groups if len({prompts[i] for i in rows}) > 1]
    if not mixed:
        return {"group_mixed": 0.0} if groups else {}
    first = int(mixed[0][0])
    other = next(int(i) for i in mixed[0] if prompts[i] != prompts[first])
    return {"group_mixed": (len(mixed) / len(groups), f"{row(first, prompts)} and {row(other, prompts)} share a group")}
