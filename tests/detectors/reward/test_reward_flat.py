"""reward-flat: the outcome that the others have to explain."""

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Run, Severity, Status
from tests.detectors.look import expected, found, look, silent
from tests.make import learning, noise, run, series

ID = "reward-flat"


def test_a_long_flat_score_is_critical() -> None:
    assert "could hide in the noise" in found(ID, run({"reward.mean": noise(600)}), Severity.CRITICAL).message


def test_a_short_flat_score_is_a_warning_with_what_could_hide() -> None:
    assert found(ID, run({"reward.mean": noise(60)}), Severity.WARNING).numbers["hidden"] > 0.5


def test_where_the_noise_hides_a_whole_gain_nothing_is_said_of_learning() -> None:
    finding = found(ID, run({"eval.reward": noise(10)}), confidence=Confidence.LOW)
    assert "nothing is seen to rise" in finding.message
    assert "nothing was learned" not in finding.message
    assert "nothing was learned" in found(ID, run({"reward.mean": noise(600)})).message


def test_an_evaluation_of_noise_beside_a_training_reward_that_rose_and_fell_is_expected() -> None:
    training = run({"reward.mean": np.r_[learning(100), learning(100)[::-1]]}).series
    evaluation = series("eval.reward", noise(12), np.linspace(1, 200, 12))
    assert look(ID, Run(path="a-run", series={**training, "eval.reward": evaluation})).expected


def test_a_score_that_rises_is_healthy() -> None:
    assert silent(ID, run({"reward.mean": learning()}))


def test_a_late_starter_is_healthy() -> None:
    late = np.concatenate([np.zeros(100), np.linspace(0, 1, 100)]) + noise(200, 0.05)
    assert silent(ID, run({"reward.mean": late}))


def test_a_constant_positive_score_may_be_the_ceiling() -> None:
    assert look(ID, run({"eval.reward": [500.0] * 30})).status is Status.NOT_MEASURED


def test_an_evaluation_that_starts_at_the_ceiling_of_training_is_solved() -> None:
    assert silent(ID, run({"eval.reward": [500.0] * 30, "reward.mean": learning(200, 20, 480, sd=0.01)}))


def test_an_evaluation_that_begins_after_the_learning_is_expected() -> None:
    log = run({"eval.reward": 450 + noise(30, 5), "reward.mean": learning(200, 20, 480)})
    late = series("eval.reward", log.series["eval.reward"].values, np.linspace(90, 200, 30))
    note = expected(ID, replace(log, series={**log.series, "eval.reward": late}))
    assert "begins after the learning, at step 90" in note


def test_an_evaluation_that_is_flat_beside_a_reward_that_rises_is_not_said_to_begin_later() -> None:
    note = expected(ID, run({"eval.reward": 450 + noise(30, 5), "reward.mean": learning(200, 20, 480)}))
    assert "begins after" not in note


def test_an_evaluation_that_is_lost_beside_a_reward_that_rises_is_not_called_expected() -> None:
    steps = np.arange(1, 202, 20)
    lost = series("eval.accuracy", [0.29, 0.28, *[0.0] * 9], steps)
    log = run({"reward.mean": learning(200, 0.6, 2.0, sd=0.01)})
    outcome = look(ID, replace(log, series={**log.series, "eval.accuracy": lost}))
    assert not outcome.expected
    assert "not what is evaluated" in outcome.note


def test_an_evaluation_that_moves_in_its_last_digits_is_constant() -> None:
    assert "the score is constant" in found(ID, run({"eval.reward": -5.6166 - 1e-5 * np.arange(60)})).message


def test_a_rate_that_is_still_warmed_up_excuses_a_flat_score() -> None:
    curves = {"reward.mean": noise(600)}
    assert look(ID, run({**curves, "lr": np.linspace(1e-9, 1e-6, 600)})).status is Status.NOT_MEASURED
    warmed = np.minimum(np.linspace(0, 1e-5, 600), 1e-6)
    assert found(ID, run({**curves, "lr": warmed}))


def test_a_log_that_begins_in_mid_run_does_not_hold_what_was_learned() -> None:
    later = series("reward.mean", noise(600), 5000 + np.arange(600))
    assert look(ID, Run(path="a-run", series={"reward.mean": later})).status is Status.NOT_MEASURED


def test_a_slow_learner_that_reaches_no_new_level_still_learns() -> None:
    assert silent(ID, run({"reward.mean": np.linspace(0.6, 0.66, 80) + noise(80, 0.05, 1)}))


EXPLORING = np.concatenate([np.linspace(1, 0.05, 40), np.full(160, 0.05)])


def test_a_greedy_policy_that_scores_like_random_actions_has_learned_nothing() -> None:
    curves = {"reward.mean": -6 + noise(200), "epsilon": EXPLORING}
    finding = found(ID, run(curves, algorithm="dqn"), confidence=Confidence.HIGH)
    assert "random" in finding.message


def test_swings_about_the_level_of_random_actions_are_no_learning() -> None:
    swings = np.where(np.arange(200) >= 40, 4 * np.sign(np.sin(np.arange(200) / 8)), 0.0)
    curves = {"reward.mean": -6 + swings + noise(200, 2.5), "epsilon": EXPLORING}
    assert "random" in found(ID, run(curves, algorithm="dqn")).message
    better = {"reward.mean": -6 + swings + 12 * (np.arange(200) >= 40) + noise(200, 0.5), "epsilon": EXPLORING}
    assert silent(ID, run(better, algorithm="dqn"))


def test_while_actions_are_mostly_random_nothing_is_said_of_the_policy() -> None:
    finding = found(ID, run({"reward.mean": -6 + noise(200), "epsilon": np.linspace(1, 0.15, 200)}, algorithm="dqn"))
    assert "random" not in finding.message


def test_an_evaluation_never_acts_at_random() -> None:
    curves = {"eval.reward": -6 + noise(200), "epsilon": EXPLORING}
    assert "random" not in found(ID, run(curves, algorithm="dqn")).message
    assert "random" in found(ID, run({**curves, "reward.mean": -7 + noise(200)}, algorithm="dqn")).message
