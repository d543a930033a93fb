"""penalty-eats-reward: what is trained on falls while the task reward stays."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "penalty-eats-reward"
N = 120
TASK = learning(N, 0.2, 0.6, 0.03)
LATE = np.clip(np.linspace(-0.5, 1, N), 0, 1)


def test_a_penalty_above_the_gain_is_found_when_it_grows() -> None:
    finding = found(ID, run({"reward.mean": TASK, "reward.shaped.mean": TASK - 0.7 * LATE + noise(N, 0.01)}))
    assert "penalty" in finding.message
    assert finding.onset is not None
    assert finding.onset >= 30


def test_a_small_penalty_is_healthy() -> None:
    assert silent(ID, run({"reward.mean": TASK, "reward.shaped.mean": TASK - 0.1 * LATE}))


def test_a_task_reward_that_falls_itself_is_another_finding() -> None:
    falling = 0.6 - 0.5 * LATE + noise(N, 0.02)
    assert silent(ID, run({"reward.mean": falling, "reward.shaped.mean": falling - 0.05 * LATE}))
