"""reward-down-evaluation-up: the policy gets less reward for the same answers."""

import numpy as np

from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "reward-down-evaluation-up"
N = 80
EVALUATION = {"eval.accuracy": np.linspace(0.5, 0.8, N)}


def test_a_reward_that_falls_alone_is_found() -> None:
    rewards = np.where(np.arange(N) < 40, 0.7, 0.3) + noise(N, 0.02)
    finding = found(ID, run({"reward.mean": rewards, **EVALUATION}, algorithm="grpo"))
    assert finding.onset is not None
    assert 36 <= finding.onset <= 46


def test_a_reward_that_falls_with_the_evaluation_is_another_matter() -> None:
    falling = np.where(np.arange(N) < 40, 0.7, 0.3) + noise(N, 0.02)
    assert silent(ID, run({"reward.mean": falling, "eval.accuracy": falling}, algorithm="grpo"))


def test_a_reward_that_rises_first_and_then_falls_is_found_too() -> None:
    course = np.interp(np.arange(N), [0, 30, 60, N - 1], [0.3, 0.7, 0.4, 0.4]) + noise(N, 0.02)
    assert "the evaluation rose from" in found(ID, run({"reward.mean": course, **EVALUATION}, algorithm="grpo")).message


def test_a_reward_that_is_hardly_ever_paid_has_no_level_to_fall_from() -> None:
    rewards = np.where(np.arange(150) % 25 == 0, 1 / 64, 0.0) * np.linspace(2, 1, 150)
    made = run({"eval.accuracy": np.zeros(150), "reward.mean": rewards})
    assert look(ID, made).finding is None
