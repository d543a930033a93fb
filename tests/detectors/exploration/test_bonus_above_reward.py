"""bonus-above-reward: acting at random earns more than the task."""

from typing import Any

import numpy as np

from firstbreak.model import Confidence, Run, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "bonus-above-reward"


def played(alpha: Any) -> Run:
    """A pendulum: about 6 of cost in each of 200 steps."""
    return run(
        {"alpha": alpha, "reward.mean": -1200 + noise(20, 50), "episode.length": np.full(20, 200.0)}, algorithm="sac"
    )


def test_a_fixed_bonus_above_the_reward_is_found() -> None:
    finding = found(ID, played(np.full(20, 20.0)), confidence=Confidence.HIGH)
    assert "at random" in finding.message


def test_a_small_fixed_bonus_is_healthy() -> None:
    assert silent(ID, played(np.full(20, 0.2)))


def test_a_temperature_that_is_tuned_is_not_the_users() -> None:
    assert silent(ID, played(np.linspace(20, 10, 20)))


def test_without_returns_nothing_is_said() -> None:
    assert look(ID, run({"alpha": np.full(20, 20.0)}, algorithm="sac")).status is Status.NOT_MEASURED


def test_rewards_that_cancel_in_the_return_are_known_where_they_are_recorded() -> None:
    curves = {"alpha": np.full(20, 0.5), "reward.mean": 1 + noise(20, 0.2), "episode.length": np.full(20, 100.0)}
    assert found(ID, run(curves, algorithm="sac"))
    assert silent(ID, run(curves | {"env.reward_size": np.ones(20)}, algorithm="sac"))
