"""Clipping leaves the rewards of a prompt different."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import members, total
from firstbreak.live.recorder.measuring import Reading


def measure(
    clipped: np.ndarray,
    rewards: np.ndarray,
    group: float | Sequence[str] | np.ndarray,
    reward_weights: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """Of the groups with different rewards, the share that has one reward after clipping. `clipped` (n,): the rewards then."""
    before = total(rewards, reward_weights)
    groups = [rows for rows in members(group, len(before)) if np.ptp(before[rows]) > 0]
    if not groups:
        return {}
    flat = [rows for rows in groups if np.ptp(clipped[rows]) == 0]
    share = len(flat) / len(groups)
    if not flat:
        return {"reward_clipped": share}
    rows = flat[0]
    cut = before[rows]
    said = f"rewards of {cut.min():.4g} to {cut.max():.4g} are all {clipped[rows[0]]:.4g} after clipping"
    return {"reward_clipped": (share, said)}
