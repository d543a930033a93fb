"""reward-at-floor: the goal is hardly ever reached."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "reward-at-floor"


def test_a_score_that_hardly_ever_leaves_its_floor() -> None:
    score = np.where(np.arange(200) % 25 == 0, 1.0, 0.0)
    assert "96 %" in found(ID, run({"reward.mean": score}), Severity.CRITICAL).message


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


def test_a_greedy_evaluation_at_the_floor_beside_training_that_rises_is_healthy() -> None:
    greedy = np.where(np.arange(25) == 20, -400.0, -1000.0)
    assert found(ID, run({"eval.reward": greedy, "reward.mean": [-1000.0] * 25}))
    assert silent(ID, run({"eval.reward": greedy, "reward.mean": learning(200, -1000, -700)}))


@pytest.mark.parametrize(("length", "status"), [(98_000.0, Status.NOT_MEASURED), (200.0, Status.FOUND)])
def test_one_endless_episode_whose_return_is_repeated_is_no_floor(length: float, status: Status) -> None:
    at = 98_000 + 1000 * np.arange(70)
    curves = {"reward.mean": np.full(70, -17_500.0), "episode.length": np.full(70, length)}
    made = {name: replace(series(name, values, at), axis="env_steps") for name, values in curves.items()}
    assert look(ID, Run(path="a-run", series=made)).status is status


def test_a_score_that_fell_to_its_floor_had_been_above_it() -> None:
    score = 1500 + 30000 * np.exp(-np.arange(200) / 6)
    assert silent(ID, run({"reward.mean": score}))


def test_a_reward_that_rises_leads_to_a_success_that_is_still_to_come() -> None:
    curves = {"eval.success_rate": [0.0] * 60, "eval.reward": learning(60, 10, 90)}
    assert silent(ID, run(curves))
    found(ID, run({**curves, "eval.reward": 10 + noise(60)}))


def test_what_to_score_first_is_what_the_policy_makes() -> None:
    curves = {"reward.mean": [0.0] * 40}
    assert "a known correct answer" in found(ID, run(curves, algorithm="grpo")).message
    assert "scripted expert" in found(ID, run({**curves, "episode.length": [200.0] * 40}, algorithm="dqn")).message


def test_batches_without_a_single_success_are_the_floor_however_many_hold_one() -> None:
    rare = np.random.default_rng(0).binomial(64, 0.01, 60) / 64
    assert 0.4 < np.mean(rare == 0) < 0.75
    assert "hardly ever reached" in found(ID, run({"reward.mean": rare})).message
    assert silent(ID, run({"reward.mean": 0.98 + rare}))


def test_a_goal_that_training_reached_at_first_was_lost_and_is_not_never_reached() -> None:
    trained = np.r_[np.full(30, 0.3), np.full(170, -0.6)] + noise(200, 0.05)
    assert silent(ID, run({"eval.success_rate": [0.0] * 200, "reward.mean": trained}))
    assert found(ID, run({"eval.success_rate": [0.0] * 200, "reward.mean": -0.6 + noise(200, 0.05)}))


def test_a_few_evaluations_that_succeed_deny_it() -> None:
    returns = np.where(np.arange(200) % 10 < 3, 1.0, -0.6)
    made = run({"reward.episode": returns})
    assert found(ID, made)
    rate = series("eval.success_rate", [0.25] * 12, np.linspace(1, 200, 12))
    assert silent(ID, replace(made, series={**made.series, "eval.success_rate": rate}))
