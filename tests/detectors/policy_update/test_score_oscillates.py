"""score-oscillates: it does not settle."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "score-oscillates"


def test_an_evaluation_that_swings_over_its_whole_range() -> None:
    swings = 500 * (1 + np.sin(np.arange(80) / 4)) + noise(80, 20)
    known = {"eval.reward.std": [60.0] * 80, "eval.reward.count": [10.0] * 80}
    assert found(ID, run({"eval.reward": swings, **known})).severity is Severity.CRITICAL


def test_swings_no_larger_than_the_spread_of_the_episodes_are_noise() -> None:
    known = {"eval.reward.std": [600.0] * 80, "eval.reward.count": [3.0] * 80}
    assert silent(ID, run({"eval.reward": 500 + noise(80, 350), **known}))


def test_an_evaluation_that_settles_is_healthy() -> None:
    assert silent(ID, run({"eval.reward": learning(80)}))


def test_a_training_reward_swings_with_its_batches() -> None:
    assert look(ID, run({"reward.mean": noise(80)})).status is Status.NOT_APPLICABLE


def test_without_the_spread_of_the_episodes_more_is_asked_for() -> None:
    wobbling = learning(80, 0, 100) + noise(80, 45, 5)
    known = {"eval.reward.std": [10.0] * 80, "eval.reward.count": [10.0] * 80}
    assert found(ID, run({"eval.reward": wobbling, **known})).severity is Severity.WARNING
    assert silent(ID, run({"eval.reward": wobbling}))


def test_swings_of_unknown_noise_stop_no_run() -> None:
    swings = 500 * (1 + np.sin(np.arange(80) / 4)) + noise(80, 20)
    assert "not recorded" in found(ID, run({"eval.reward": swings}), Severity.WARNING).message


def test_swings_that_are_small_against_the_score_are_left_alone() -> None:
    known = {"eval.reward.std": [1.0] * 80, "eval.reward.count": [10.0] * 80}
    assert silent(ID, run({"eval.reward": 11.3 + 1.3 * np.sin(np.arange(80) / 2) + noise(80, 0.1), **known}))
