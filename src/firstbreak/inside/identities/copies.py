"""Two samples of a prompt are equal as often as the policy's own probability of the text says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from firstbreak.inside.batch import Reading

EXCESS = 0.3  #: of the pairs, from which on a pair is named


def measure(keys: Sequence[tuple[str, str]], logps: np.ndarray, mask: np.ndarray, fresh: bool) -> Mapping[str, Reading]:
    """The share of pairs of one prompt that are equal, less the share that is expected. `keys`: prompt and completion."""
    places: dict[str, list[int]] = {}
    for i, (prompt, _) in enumerate(keys):
        places.setdefault(prompt, []).append(i)
    pairs = [pair for members in places.values() for pair in combinations(members, 2)]
    if not fresh or len(pairs) < 8:
        return {}
    chance = np.exp(np.minimum((logps * (mask != 0)).sum(1), 0))
    equal = [keys[i][1] == keys[j][1] for i, j in pairs]
    excess = float(np.mean(equal) - np.mean([(chance[i] + chance[j]) / 2 for i, j in pairs]))
    if excess <= EXCESS:
        return {"copies": excess}
    i, j = next(pair for pair, same in zip(pairs, equal, strict=True) if same)
    return {
        "copies": (excess, f"rows {i} and {j} of the prompt {keys[i][0][-60:]!r} are one text, {keys[i][1][:60]!r}")
    }
