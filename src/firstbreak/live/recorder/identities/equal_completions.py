"""The same completion of the same prompt gets the same reward, within a batch."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import members, row, total
from firstbreak.live.recorder.measuring import Reading

MIN_TWINS = 8
SMALL = 0.02  #: of the spread of the rewards: a reward model in 16 bits leaves less


def measure(
    prompts: Sequence[str],
    completions: Sequence[str],
    rewards: np.ndarray,
    reward_weights: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    group: float | Sequence[str] | np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """Of the completions that their prompt has had before in the batch, the share with another reward than then.

    `lengths` (n,): tokens, of which texts with and without an end have different numbers. `group`: where it is known, only its
    completions are compared: beside a prompt, two groups may be shown different pictures.
    """
    paid = total(rewards, reward_weights)
    spread = float(np.ptp(paid[np.isfinite(paid)])) if np.isfinite(paid).any() else 0.0
    tokens = [0.0] * len(paid) if lengths is None or lengths.ndim != 1 else lengths.tolist()
    places = np.zeros(len(paid), int)
    for k, rows in enumerate([] if group is None else members(group, len(paid))):
        places[rows] = k
    first: dict[tuple[str, str, float, int], int] = {}
    twins = [
        (first[text], i)
        for i, text in enumerate(zip(prompts, completions, tokens, places.tolist(), strict=True))
        if first.setdefault(text, i) != i and np.isfinite(paid[[first[text], i]]).all()
    ]
    if len(twins) < MIN_TWINS:
        return {}
    apart = [(i, j) for i, j in twins if abs(paid[i] - paid[j]) > SMALL * spread]
    share = len(apart) / len(twins)
    if not apart:
        return {"reward_twins": share}
    i, j = apart[0]
    said = row(j, prompts, f": {completions[j][-40:]!r} gets {paid[j]:.4g}, and {paid[i]:.4g} in row {i}")
    return {"reward_twins": (share, said)}
