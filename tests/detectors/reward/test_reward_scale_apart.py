"""reward-scale-apart: training counts rewards on another scale."""

import numpy as np

from tests.detectors.look import found, look, silent
from tests.make import run

ID = "reward-scale-apart"
N = 40
SKILL = np.linspace(20, 200, N)


def test_rewards_times_a_hundred_are_found() -> None:
    assert "100" in found(ID, run({"eval.reward": SKILL, "reward.mean": 100 * SKILL}, algorithm="ppo")).message


def test_a_training_return_that_lags_is_healthy() -> None:
    assert silent(ID, run({"eval.reward": SKILL, "reward.mean": 0.5 * SKILL}, algorithm="ppo"))


def test_rewards_that_are_clipped_to_their_sign_are_healthy() -> None:
    events = np.round(SKILL / 15)
    assert look(ID, run({"eval.reward": SKILL * 3, "reward.mean": events}, algorithm="sac")).expected
    scaled = run({"eval.reward": SKILL * 3, "reward.mean": SKILL * 3 / 40.5}, algorithm="sac")
    assert "times those" in found(ID, scaled).message
