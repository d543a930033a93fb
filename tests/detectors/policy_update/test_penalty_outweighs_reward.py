"""A penalty that turns what the reward says, and one that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.detectors.recorded import ADVANTAGES, LENGTHS, MASK, PROMPTS, REWARDS, proof, recorded

LAST = np.arange(5) == LENGTHS.reshape(-1, 1) - 1


def penalised(weight: float) -> dict[str, Any]:
    """A batch whose tokens pay a penalty that grows with their place, before the advantages are estimated."""
    penalties = weight * MASK
    rewards = LAST * ADVANTAGES.reshape(-1, 1) - penalties
    advantages = np.cumsum(rewards[:, ::-1], 1)[:, ::-1] * MASK
    known = {"prompts": PROMPTS, "rewards": REWARDS, "group": 4, "mask": MASK}
    return known | {"advantages": advantages, "token_rewards": rewards, "penalties": penalties}


def test_a_penalty_larger_than_the_rewards_is_proved(tmp_path: Path) -> None:
    said = proof(recorded(tmp_path, "penalty-outweighs-reward", penalised(1.0)))
    assert "for 43 % of the completions the penalty is larger" in said
    assert "penalty 3" in said


def test_a_small_penalty_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "penalty-outweighs-reward", penalised(0.01)).finding is None
