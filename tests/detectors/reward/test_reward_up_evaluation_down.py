"""reward-up-evaluation-down: the two curves separate."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "reward-up-evaluation-down"
UP = learning(150)


def test_an_evaluation_that_falls_under_a_rising_reward_is_critical() -> None:
    fall = np.concatenate([np.linspace(0.3, 0.6, 50), np.linspace(0.6, 0.1, 100)]) + noise(150, 0.02, 1)
    assert 40 <= found(ID, run({"reward.mean": UP, "eval.accuracy": fall}), Severity.CRITICAL).onset <= 90


def test_an_evaluation_that_stays_flat_is_a_warning() -> None:
    found(ID, run({"reward.mean": UP, "eval.accuracy": 0.3 + noise(150, 0.02, 1)}), Severity.WARNING)


def test_both_rising_is_healthy() -> None:
    assert silent(ID, run({"reward.mean": UP, "eval.accuracy": learning(150, seed=1)}))


def test_both_falling_is_another_finding() -> None:
    assert silent(ID, run({"reward.mean": -UP, "eval.accuracy": -learning(150, seed=1)}))


def test_the_same_curve_under_two_names_is_not_compared() -> None:
    assert look(ID, run({"reward.mean": UP, "eval.reward": UP})).status is Status.NOT_APPLICABLE


def test_few_evaluations_say_nothing() -> None:
    made = run({"reward.mean": UP})
    assert look(ID, made).status is Status.NOT_MEASURED


@pytest.mark.parametrize(("end", "separates"), [(0.9, False), (0.4, True)])
def test_a_return_that_is_evaluated_no_lower_than_in_training_is_not_reported(end: float, separates: bool) -> None:
    ahead = np.interp(np.arange(150), [0, 80, 110, 149], [0.2, 1.5, end, end]) + noise(150, 0.02, 1)
    outcome = look(ID, run({"reward.mean": 0.6 * UP, "eval.reward": ahead}))
    assert (outcome.status is Status.FOUND) is separates
    message = outcome.finding.message if outcome.finding is not None else ""
    assert ("watch the episodes" in message) is separates
    rated = run({"reward.mean": 0.6 * UP, "eval.reward": ahead}, algorithm="grpo")  # a learned reward: another unit
    assert "read the completions" in found(ID, rated).message


def test_an_evaluation_whose_noise_can_hide_the_rise_is_not_called_flat() -> None:
    steps = np.arange(0, 150, 15)
    reward = np.clip(0.3 + 0.1 * UP, 0, 1)
    noisy = np.full(150, np.nan)
    noisy[steps] = 0.3 + np.array([0.08, -0.1, 0.0, 0.1, -0.08, 0.06, -0.1, 0.1, 0.08, -0.02])
    assert silent(ID, run({"reward.mean": reward, "eval.accuracy": noisy}))


def test_two_low_evaluations_at_the_end_are_no_more_than_a_warning() -> None:
    judged = np.full(150, np.nan)
    judged[::10] = np.append(np.linspace(0.3, 0.8, 13), [0.3, 0.3])
    found(ID, run({"reward.mean": UP, "eval.accuracy": judged}), Severity.WARNING)


@pytest.mark.parametrize(("falls_for", "separates"), [(50, False), (2, True)])
def test_a_return_that_rises_because_fewer_actions_are_random_is_no_gain(falls_for: int, separates: bool) -> None:
    """Of a greedy policy that is right from the start, the training return shows the schedule."""
    epsilon = np.maximum(0.05, 1 - np.arange(150) / falls_for)
    rises = 20 + 150 * np.minimum(1, np.arange(150) / 50) + noise(150, 4)
    made = run({"epsilon": epsilon, "reward.mean": rises, "eval.reward": 120 + noise(150, 4, 1)}, algorithm="dqn")
    assert (look(ID, made).status is Status.FOUND) is separates


def test_an_evaluation_that_rises_follows_whatever_its_unit() -> None:
    shares = [0.469, 0.547, 0.641, 0.734, 0.734, 0.672, 0.75, 0.719, 0.797, 0.797]
    made = run({"reward.mean": learning(80, 0.5, 0.9, sd=0.2)}, algorithm="grpo")
    score = series("eval.accuracy", shares, np.arange(8, 81, 8))
    assert look(ID, replace(made, series={**made.series, score.name: score})).finding is None
