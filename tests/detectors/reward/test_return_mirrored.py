"""return-mirrored: the training environment rewards the opposite."""

import numpy as np

from firstbreak.model import Confidence, Run, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series


def played(trained: np.ndarray, evaluated: np.ndarray) -> Run:
    at = np.linspace(1, len(trained), len(evaluated))
    made = run({"reward.episode": trained}, algorithm="ppo")
    return type(made)(**{**vars(made), "series": {**made.series, "eval.reward": series("eval.reward", evaluated, at)}})


ID = "return-mirrored"


def test_a_sign_that_turns_in_mid_run_is_found() -> None:
    trained = np.r_[100 + noise(100, 10), -100 + noise(100, 10)]
    finding = found(ID, played(trained, 100 + noise(14, 5)), confidence=Confidence.HIGH)
    assert finding.onset is not None
    assert 100 < finding.onset < 135


def test_returns_that_agree_are_healthy() -> None:
    assert silent(ID, played(learning(200, 20, 200), learning(14, 25, 210)))


def test_returns_that_cross_zero_while_they_grow_are_healthy() -> None:
    assert silent(ID, played(np.linspace(-200, 180, 200), np.linspace(-150, 230, 14)))


def test_without_evaluations_nothing_is_said() -> None:
    assert look(ID, played(np.ones(50), np.ones(2))).status is Status.NOT_MEASURED


def test_a_handful_of_training_returns_cannot_be_compared_with_each_evaluation() -> None:
    returns = np.array([-2.8, 1.1, -0.2, -0.4])
    assert look(ID, played(returns, 0.3 + noise(30, 0.02))).status is Status.NOT_MEASURED


def test_a_success_rate_is_no_return() -> None:
    rate = run(
        {"reward.episode": -0.6 + noise(200, 0.05), "eval.success_rate": 0.3 + noise(200, 0.02)}, algorithm="ppo"
    )
    assert look(ID, rate).status is Status.NOT_MEASURED


def test_an_evaluation_that_stands_still_mirrors_nothing() -> None:
    assert silent(ID, played(np.linspace(20, 90, 200), np.full(20, -80.0)))
