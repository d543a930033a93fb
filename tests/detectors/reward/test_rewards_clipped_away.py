"""A clip range that no reward lies in."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import PROMPTS, REWARDS, proof, recorded

ID = "rewards-clipped-away"
BATCH = {"prompts": PROMPTS, "rewards": REWARDS, "group": 4}


def test_a_range_above_all_rewards_is_proved(tmp_path: Path) -> None:
    outside = BATCH | {"clipped": REWARDS.clip(2, 10)}
    assert "rewards of 0 to 1 are all 2 after clipping" in proof(recorded(tmp_path, ID, outside))


def test_a_range_that_cuts_outliers_is_silent(tmp_path: Path) -> None:
    inside = BATCH | {"clipped": REWARDS.clip(-0.9, 0.9)}
    assert recorded(tmp_path, ID, inside, inside).finding is None


def test_equal_rewards_are_not_the_ranges_fault(tmp_path: Path) -> None:
    equal = BATCH | {"rewards": np.zeros(8), "clipped": np.full(8, 2.0)}
    assert recorded(tmp_path, ID, equal, equal).finding is None
