"""reward-at-floor: the goal is hardly ever reached."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "reward-at-floor"


def test_a_score_that_hardly_ever_leaves_its_floor() -> None:
    score = np.where(np.arange(200) % 25 == 0, 1.0, 0.0)
    finding = found(ID, run({"reward.mean": score}))
    assert finding.severity is Severity.CRITICAL
    assert "96 %" in finding.message


def test_a_success_rate_near_zero() -> None:
    rate = np.clip(0.02 + noise(60, 0.02), 0, 1)
    assert found(ID, run({"success_rate": rate, "reward.mean": noise(60)})).metric == "success_rate"


def test_success_that_comes_is_healthy() -> None:
    assert silent(ID, run({"success_rate": learning(60), "reward.mean": noise(60)}))


def test_a_constant_positive_score_may_be_the_ceiling() -> None:
    assert look(ID, run({"eval.reward": [500.0] * 40})).status is Status.NOT_MEASURED


def test_a_constant_score_at_zero_is_the_floor() -> None:
    assert found(ID, run({"reward.mean": [0.0] * 40}))


def test_a_noisy_score_is_healthy() -> None:
    assert silent(ID, run({"reward.mean": noise(100)}))
