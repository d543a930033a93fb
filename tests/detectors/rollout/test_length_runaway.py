"""length-runaway: longer and longer for nothing."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "length-runaway"
GROWING = 50 + np.concatenate([np.zeros(50), np.linspace(0, 150, 100)]) + noise(150, 3)


def test_length_that_grows_while_the_evaluation_falls_is_critical() -> None:
    fall = np.concatenate([np.full(60, 0.6), np.linspace(0.6, 0.1, 90)]) + noise(150, 0.02, 1)
    finding = found(ID, run({"length.mean": GROWING, "eval.accuracy": fall, "reward.mean": learning(150)}))
    assert finding.severity is Severity.CRITICAL
    assert 40 <= finding.onset <= 90


def test_length_that_grows_for_a_flat_score_is_a_warning() -> None:
    assert found(ID, run({"length.mean": GROWING, "reward.mean": noise(150, 0.1, 2)})).severity is Severity.WARNING


def test_longer_because_better_is_healthy() -> None:
    assert silent(ID, run({"length.mean": GROWING, "eval.accuracy": learning(150)}))


def test_a_constant_length_is_healthy() -> None:
    assert silent(ID, run({"length.mean": 50 + noise(150, 3), "reward.mean": noise(150, 0.1)}))


def test_longer_completions_while_the_evaluation_stops_following_the_reward() -> None:
    reward = np.linspace(0.2, 0.8, 150)
    stays = np.minimum(reward, 0.45) + noise(150, 0.02, 1)
    curves = {"length.mean": GROWING, "reward.mean": reward + noise(150, 0.02, 2)}
    assert "stopped following" in found(ID, run({**curves, "eval.reward": stays})).message
    assert silent(ID, run({**curves, "eval.reward": reward + noise(150, 0.02, 1)}))
