"""Every completion has a reward that is a number."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import row, total
from firstbreak.live.recorder.measuring import Reading


def measure(
    rewards: np.ndarray, reward_weights: np.ndarray | None = None, prompts: Sequence[str] | None = None
) -> Mapping[str, Reading]:
    """The share of completions that no function scored."""
    missing = ~np.isfinite(total(rewards, reward_weights))
    if not missing.any():
        return {"reward_missing": 0.0}
    return {"reward_missing": (float(missing.mean()), row(int(np.argmax(missing)), prompts, " has no reward"))}
