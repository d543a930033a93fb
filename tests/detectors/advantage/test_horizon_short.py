"""horizon-short: a discount that ignores later rewards."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "horizon-short"
LENGTHS = {"episode.length": np.linspace(20, 200, 40)}


def test_a_horizon_of_two_steps_is_found() -> None:
    assert "0.5" in found(ID, run(LENGTHS, algorithm="ppo", config={"gamma": 0.5})).message


def test_the_usual_discount_is_healthy() -> None:
    assert silent(ID, run(LENGTHS, algorithm="ppo", config={"gamma": 0.99}))


def test_the_usual_discount_is_healthy_however_long_a_game_lasts() -> None:
    games = {"episode.length": np.linspace(500, 9000, 40), "reward.mean": np.linspace(10, 400, 40)}
    for gamma in (0.98, 0.99):
        assert silent(ID, run(games, algorithm="ppo", config={"gamma": gamma}))
    assert found(ID, run(games, algorithm="ppo", config={"gamma": 0.9}))


def test_a_reward_at_the_end_of_a_long_completion_needs_no_discount() -> None:
    text = {"length.mean": np.linspace(2800, 3400, 40), "value.loss": np.ones(40)}
    message = found(ID, run(text, algorithm="ppo", config={"gamma": 0.99})).message
    assert "completions" in message
    assert message.endswith("try 1")
