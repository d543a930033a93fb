"""critic-not-learning: a value loss that does not fall, and returns that stay unexplained."""

import numpy as np

from firstbreak.model import Confidence, Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "critic-not-learning"
FLAT = 1 + noise(100, 0.1)


def test_a_flat_loss_beside_unexplained_returns_is_a_warning_even_if_the_score_rises() -> None:
    curves = {"value.loss": FLAT, "value.explained_variance": noise(100, 0.05, 1), "reward.mean": learning(100)}
    assert "critic alone" in found(ID, run(curves, algorithm="ppo"), Severity.WARNING, Confidence.MEDIUM).message


def test_without_explained_variance_only_a_flat_score_makes_it_doubtful() -> None:
    found(ID, run({"value.loss": FLAT, "reward.mean": noise(100, 1, 1)}, algorithm="ppo"), confidence=Confidence.LOW)
    assert silent(ID, run({"value.loss": FLAT, "reward.mean": learning(100)}, algorithm="ppo"))


def test_a_critic_that_explains_growing_returns_is_healthy() -> None:
    curves = {"value.loss": FLAT + learning(100), "value.explained_variance": learning(100, 0, 0.8)}
    assert silent(ID, run(curves, algorithm="ppo"))


def test_a_critic_that_fitted_once_did_learn() -> None:
    """What it lost later is another finding; a few updates by chance are no fit."""
    fitted, chance = (np.r_[np.zeros(20), np.full(n, 0.8), np.zeros(80 - n)] + noise(100, 0.02, 3) for n in (20, 3))
    curves = {"value.loss": FLAT, "reward.mean": learning(100)}
    assert silent(ID, run({**curves, "value.explained_variance": fitted}, algorithm="ppo"))
    assert found(ID, run({**curves, "value.explained_variance": chance}, algorithm="ppo"))


def test_a_loss_that_falls_is_healthy() -> None:
    curves = {"value.loss": 2 - learning(100), "value.explained_variance": noise(100, 0.02), "reward.mean": FLAT}
    assert silent(ID, run(curves, algorithm="ppo"))


def test_a_loss_of_nothing_is_healthy() -> None:
    curves = {"value.loss": np.full(100, 1e-9), "value.explained_variance": np.zeros(100)}
    assert silent(ID, run(curves, algorithm="ppo"))
