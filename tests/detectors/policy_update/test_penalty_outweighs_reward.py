"""A penalty that turns what the reward says, and one that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.detectors.look import found, silent
from tests.detectors.recorded import ADVANTAGES, LENGTHS, MASK, PROMPTS, REWARDS, proof, recorded
from tests.make import run

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


def test_the_sign_of_rewards_near_0_says_nothing(tmp_path: Path) -> None:
    """As a reward model gives them: a small penalty turns the sign of those that are nearly 0."""
    batch = penalised(0.05)
    near = LAST * np.array([2.0, -2, 0.1, 0.05, 0.02, 0.1, 2, -2]).reshape(-1, 1) - batch["penalties"]
    advantages = np.cumsum(near[:, ::-1], 1)[:, ::-1] * MASK
    turned = batch | {"token_rewards": near, "advantages": advantages}
    assert recorded(tmp_path, "penalty-outweighs-reward", turned).finding is None


def test_a_small_penalty_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "penalty-outweighs-reward", penalised(0.01)).finding is None


def test_a_share_that_sound_runs_show_is_silent() -> None:
    assert silent("penalty-outweighs-reward", run({"proof.penalty_turned": [0.0, 0.08, *[0.14] * 10]}))
    assert found("penalty-outweighs-reward", run({"proof.penalty_turned": [0.0, 0.08, *[0.25] * 10]}))
