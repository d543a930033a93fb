"""The completions of one prompt are scored against one right answer."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import members, row
from firstbreak.live.recorder.measuring import Reading


def measure(
    prompts: Sequence[str], references: Sequence[str], group: float | Sequence[str] | np.ndarray
) -> Mapping[str, Reading]:
    """The share of the groups of one prompt whose rows have several right answers."""
    groups = [rows for rows in members(group, len(prompts)) if len(rows) > 1 and len({prompts[i] for i in rows}) == 1]
    if not groups:
        return {}
    split = [rows for rows in groups if len({references[i] for i in rows}) > 1]
    share = len(split) / len(groups)
    if not split:
        return {"reference_split": share}
    first = int(split[0][0])
    other = next(i for i in split[0] if references[i] != references[first])
    said = f" is scored against {references[first]!r}, and against {references[other]!r} in row {other}"
    return {"reference_split": (share, row(first, prompts, said))}
