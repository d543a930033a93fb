"""failures-pay: failures and reward rise together."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "failures-pay"
N = 80
LATE = np.arange(N) >= 30
FAILING = np.where(LATE, 0.25, 0.01) + np.abs(noise(N, 0.01))


def test_failures_that_rise_with_the_reward_are_found() -> None:
    rewards = np.where(LATE, 0.95, 0.7) + noise(N, 0.02)
    finding = found(ID, run({"reward.mean": rewards, "tool.failure_freq": FAILING}, algorithm="grpo"))
    assert finding.onset is not None
    assert 25 <= finding.onset <= 45


def test_failures_that_lower_the_reward_are_healthy() -> None:
    rewards = np.where(LATE, 0.4, 0.7) + noise(N, 0.02)
    assert silent(ID, run({"reward.mean": rewards, "tool.failure_freq": FAILING}, algorithm="grpo"))
