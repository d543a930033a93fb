"""critic-worse-than-mean."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Severity
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "critic-worse-than-mean"


def test_a_critic_below_zero_with_a_flat_score() -> None:
    finding = found(ID, run({"value.explained_variance": -0.5 + noise(80, 0.1), "reward.mean": noise(80, 1, 1)}))
    assert finding.severity is Severity.WARNING
    assert finding.confidence == "high"


def test_at_the_reward_ceiling_any_value_is_expected() -> None:
    capped = np.minimum(500, learning(80, 20, 900, sd=0))
    assert look(ID, run({"value.explained_variance": [-30.0] * 80, "reward.mean": capped})).expected


def test_a_good_critic_is_healthy() -> None:
    assert silent(ID, run({"value.explained_variance": learning(80, 0, 0.9), "reward.mean": learning(80)}))


def test_a_bad_start_is_healthy() -> None:
    curve = np.concatenate([np.full(20, -1.0), np.full(80, 0.8)])
    assert silent(ID, run({"value.explained_variance": curve, "reward.mean": learning(100)}))


def test_a_critic_that_fails_later_is_dated_by_then_and_not_by_its_untrained_start() -> None:
    curve = np.concatenate([np.full(6, -1.0), np.full(20, 0.8), np.full(74, -1.0)])
    finding = found(ID, run({"value.explained_variance": curve, "reward.mean": noise(100, 1, 1)}))
    assert finding.onset == 27
    assert finding.interval == (26, 27)


def test_a_critic_that_returns_a_constant_is_found() -> None:
    curves = {
        "value.explained_variance": noise(60, 1e-8),
        "value.loss": 1500 + noise(60, 100),
        "reward.mean": -5 + noise(60, 0.3),
    }
    finding = found(ID, run(curves, algorithm="ppo"), confidence=Confidence.HIGH)
    assert "same value everywhere" in finding.message


def test_a_critic_that_never_explains_anything_beside_a_flat_score_is_found() -> None:
    curves = {"value.explained_variance": noise(60, 0.015), "value.loss": 0.35 + noise(60, 0.03)}
    finding = found(ID, run({**curves, "reward.mean": -1200 + noise(60, 60.0)}))
    assert finding.onset == 1
    assert silent(ID, run({**curves, "reward.mean": learning(60)}))
    assert silent(ID, run({**curves, "reward.mean": learning(60), "eval.reward": 30 + noise(60, 0.1)}))
    once = np.where(np.arange(60) % 5, curves["value.explained_variance"], 0.2)
    assert silent(ID, run({**curves, "value.explained_variance": once, "reward.mean": -1200 + noise(60, 60.0)}))


def test_where_all_returns_are_equal_there_is_nothing_to_explain() -> None:
    curves = {"value.explained_variance": np.zeros(60), "value.loss": np.full(60, 1e-9), "reward.mean": noise(60)}
    assert silent(ID, run(curves, algorithm="ppo"))


def test_where_the_value_loss_fell_to_nothing_the_critic_predicts_every_return() -> None:
    """A solved task whose highest return is not known; with a loss that stays, the same explained variance is a finding."""
    curves = {"reward.mean": learning(high=30.0), "value.explained_variance": -5 + noise(200, 0.5)}
    falls = np.concatenate([np.geomspace(20, 1e-3, 100), np.full(100, 1e-3)])
    assert silent(ID, run({**curves, "value.loss": falls}))
    assert found(ID, run({**curves, "value.loss": np.maximum(falls, 2.0)}))


def test_a_critic_that_was_better_in_this_run_is_a_sure_sign() -> None:
    variance = np.where(np.arange(100) < 80, 0.4, -0.3) + noise(100, 0.03)
    finding = found(ID, run({"value.explained_variance": variance, "value.loss": np.full(100, 0.5)}))
    assert finding.confidence is Confidence.HIGH
    assert finding.onset == pytest.approx(81, abs=2)


@pytest.mark.filterwarnings("error")
def test_a_value_loss_that_was_never_a_number_leaves_the_critic_to_learn() -> None:
    curves = {"value.explained_variance": noise(80, 1e-4), "value.loss": [np.inf] * 80, "reward.mean": noise(80, 1, 1)}
    assert found(ID, run(curves)).severity is Severity.WARNING
