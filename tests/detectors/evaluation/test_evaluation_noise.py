"""evaluation-noise: an evaluation that cannot show the gain."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "evaluation-noise"


def test_scatter_as_large_as_the_gain_is_found() -> None:
    made = run({"eval.reward": 50 + noise(30, 60, seed=3), "reward.mean": learning(300, 0, 40, sd=0.02)})
    assert "times as many episodes" in found(ID, made, Severity.WARNING).message


def test_no_factor_is_named_that_the_noise_has_made_up() -> None:
    made = run({"eval.reward": 50 + noise(30, 60, seed=3), "reward.mean": learning(300, 0, 1, sd=0.02)})
    assert "more than 100 times as many episodes" in found(ID, made).message


def test_a_policy_that_swings_is_told_from_an_evaluation_that_does() -> None:
    curves = {"eval.reward": 50 + noise(30, 60, seed=3), "reward.mean": learning(300, 0, 40, sd=0.02)}
    episodes = {"eval.reward.count": np.full(30, 10.0)}
    assert found(ID, run(curves | episodes | {"eval.reward.std": np.full(30, 200.0)}))
    assert silent(ID, run(curves | episodes | {"eval.reward.std": np.full(30, 12.0)}))


def test_an_accuracy_is_judged_on_its_own_scale() -> None:
    made = run({"eval.accuracy": 0.4 + noise(20, 0.2, seed=1), "reward.mean": learning(300, -3, 3)})
    assert found(ID, made).numbers["gain"] == pytest.approx(0.1)


def test_one_that_shows_a_collapse_is_fine_enough() -> None:
    fell = np.concatenate([np.full(20, 0.6), np.zeros(20)]) + noise(40, 0.08, seed=1)
    assert silent(ID, run({"eval.accuracy": fell, "reward.mean": learning(300, -3, 3)}))


def test_with_few_evaluations_it_is_a_notice() -> None:
    made = run({"eval.reward": 50 + noise(8, 60, seed=1), "reward.mean": learning(300, 0, 40, sd=0.02)})
    assert found(ID, made).severity is Severity.NOTICE


def test_an_evaluation_that_follows_the_gain_is_healthy() -> None:
    assert silent(ID, run({"eval.reward": learning(30, 0, 40, sd=0.2), "reward.mean": learning(300, 0, 40)}))


def test_four_problems_are_too_few_even_where_the_curve_rises() -> None:
    right = np.random.default_rng(0).binomial(4, learning(25, 0.48, 0.81, sd=0)) / 4
    made = run({"eval.reward": right, "reward.mean": learning(120, 0.48, 0.81, sd=0.1)})
    assert found(ID, made).severity is Severity.WARNING
    right = np.random.default_rng(0).binomial(128, learning(25, 0.48, 0.81, sd=0)) / 128
    assert silent(ID, run({"eval.reward": right, "reward.mean": learning(120, 0.48, 0.81, sd=0.1)}))


def test_an_evaluation_that_is_truly_flat_is_another_finding() -> None:
    assert silent(ID, run({"eval.reward": 50 + noise(30, 0.5), "reward.mean": learning(300, 0, 40, sd=0.02)}))


def test_where_training_gains_nothing_there_is_nothing_to_show() -> None:
    assert silent(ID, run({"eval.reward": 50 + noise(30, 60), "reward.mean": noise(300)}))


def test_a_constant_evaluation_has_no_noise() -> None:
    assert silent(ID, run({"eval.reward": [21.0] * 30, "reward.mean": learning(300)}))


def test_without_a_training_reward_the_gain_is_unknown() -> None:
    assert look(ID, run({"eval.reward": 50 + noise(30, 60, seed=3)})).status is Status.NOT_MEASURED


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [np.nan] * 10])
def test_a_few_evaluations_say_nothing(values: list[float]) -> None:
    assert look(ID, run({"eval.reward": values, "reward.mean": learning(300)})).status is Status.NOT_MEASURED


def test_an_evaluation_that_jumps_to_its_ceiling_and_stays_is_not_noisy() -> None:
    at_once = [0.06, *[1.0] * 30]
    assert silent(ID, run({"eval.success_rate": at_once, "reward.mean": learning(31, 0, 1.4, sd=0.02)}))


def test_an_evaluation_that_was_solved_before_training_measures_nothing() -> None:
    def of(scores: list[float], start: float) -> Run:
        return run({"eval.accuracy": scores, "reward.mean": learning(200, start, 0.9)})

    assert "measure nothing" in found(ID, of([1.0] * 10, 0.2), Severity.WARNING).message
    assert look(ID, of([0.9, *[1.0] * 9], 0.2)).finding is None  # it was not solved at first
    assert look(ID, of([1.0] * 10, 0.7)).finding is None
    late = series("eval.accuracy", [1.0] * 10, np.arange(20, 201, 20))
    assert (
        look(ID, replace(of([], 0.2), series={**of([], 0.2).series, late.name: late})).finding is None
    )  # solved since
