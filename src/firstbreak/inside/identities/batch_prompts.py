"""The groups of a batch have different prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.inside.batch import Reading
from firstbreak.inside.identities._rows import members
from firstbreak.inside.identities.prompts import FEW

MIN_GROUPS = 4


def measure(
    prompts: Sequence[str],
    group: float | Sequence[str] | np.ndarray,
    training_prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """The share of the groups that have the most frequent prompt. A task of a few prompts repeats them by right."""
    if training_prompts is not None and len(set(training_prompts)) <= FEW:
        return {}
    first = [prompts[int(rows[0])] for rows in members(group, len(prompts)) if len(rows)]
    if len(first) < MIN_GROUPS:
        return {}
    prompt, times = Counter(first).most_common(1)[0]
    share = times / len(first)
    said = f"{times} of {len(first)} groups have the prompt {prompt[-60:]!r}"
    return {"prompt_everywhere": (share, said) if share > 0.5 else share}
