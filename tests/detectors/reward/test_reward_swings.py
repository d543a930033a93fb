"""reward-swings: updates of high variance."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "reward-swings"
N = 120
X = np.linspace(0, 1, N)


def test_slow_waves_are_a_warning() -> None:
    waves = 0.4 + 0.2 * np.sin(2 * np.pi * 5 * X) + noise(N, 0.02)
    assert "larger batch" in found(ID, run({"reward.mean": waves}, algorithm="grpo"), Severity.WARNING).message


def test_noise_as_large_as_the_gain_is_a_notice() -> None:
    noisy = 0.4 + 0.1 * X + noise(N, 0.12)
    assert found(ID, run({"reward.mean": noisy}, algorithm="grpo")).severity is Severity.NOTICE


def test_a_reward_that_rises_through_its_noise_is_healthy() -> None:
    assert silent(ID, run({"reward.mean": learning(N, 0.2, 0.7, 0.08)}, algorithm="grpo"))
