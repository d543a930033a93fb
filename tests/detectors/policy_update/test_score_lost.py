"""score-lost: it was better before."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Checkpoint, Confidence, Run, Series, Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run, series

ID = "score-lost"


def test_a_collapse_names_the_best_step() -> None:
    curve = np.concatenate([learning(100), np.full(100, 0.1)]) + noise(200, 0.03)
    finding = found(ID, run({"eval.reward": curve}), Severity.CRITICAL)
    assert finding.interval is not None
    assert finding.interval[0] <= 101 <= finding.interval[1] + 5
    assert "a model that was saved near that step is better than this one" in finding.message


def test_it_names_no_model_that_is_not_known() -> None:
    fallen = run({"eval.reward": np.concatenate([learning(100), np.full(100, 0.1)]) + noise(200, 0.03)})
    saved = replace(fallen, checkpoints=(Checkpoint(step=100.0, path="checkpoint-100"),))
    assert "that best checkpoint is better than this one" in found(ID, saved).message
    assert "a model that was saved" in found(ID, fallen).message


def test_a_fall_in_a_few_evaluations_does_not_stop_a_run() -> None:
    scores = {"eval.reward": [9.0, 250.0, 490.0, 500.0, 495.0, 10.0, 9.0, 11.0]}
    finding = found(ID, run({**scores, "eval.reward.std": [5.0] * 8, "eval.reward.count": [5.0] * 8}), Severity.WARNING)
    assert finding.confidence is Confidence.MEDIUM


SWINGS = [15, 19, 42, 43, 84, 53, 112, 55, 41, 42, 36, 87, 84, 150, 75, 56, 32, 27, 30, 29, 36, 46]  # of a healthy run
ONCE = [15, 19, 42, 43, 84, 90, 112, 105, 111, 112, 106, 107, 104, 110, 75, 56, 32, 27, 30, 29, 36, 46]
OF_400 = [0.245, 0.37, 0.415, 0.49, 0.5425, 0.6775, 0.6425, 0.5675, 0.575, 0.4575, 0.44]  # an error of 0.025


@pytest.mark.parametrize(
    ("name", "scores", "stops"),
    [("eval.reward", SWINGS, False), ("eval.reward", ONCE, True), ("eval.accuracy", OF_400, True)],
)
def test_a_loss_is_lasting_beyond_its_error_and_where_none_like_it_was_regained(
    name: str, scores: list[float], stops: bool
) -> None:
    assert (diagnose(run({name: scores})).verdict.action is Action.ROLLBACK) == stops


@pytest.mark.parametrize("shift", [-100.0, 0.0, 100.0])
def test_a_loss_that_is_being_made_up_does_not_stop_a_run(shift: float) -> None:
    climb, fallen = 100 * learning(80), np.full(80, 10.0)
    back = found(ID, run({"eval.reward": shift + np.concatenate([climb, np.linspace(10, 60, 80)]) + noise(160, 3)}))
    stays = found(ID, run({"eval.reward": shift + np.concatenate([climb, fallen]) + noise(160, 3)}))
    assert (back.severity, stays.severity) == (Severity.WARNING, Severity.CRITICAL)
    assert "rises again" in back.message
    assert "rises again" not in stays.message


def test_a_small_loss_is_a_warning() -> None:
    curve = np.concatenate([learning(100, sd=0.01), np.full(100, 0.75)]) + noise(200, 0.01)
    assert found(ID, run({"eval.reward": curve})).severity is Severity.WARNING


def test_a_dip_of_noisy_returns_that_nobody_evaluated_names_no_break() -> None:
    dip = np.concatenate([learning(100, sd=0.01), np.full(100, 0.72)]) + noise(200, 0.01)
    assert found(ID, run({"reward.mean": dip}, algorithm="a2c"), Severity.NOTICE)
    assert found(ID, run({"reward.mean": dip}, algorithm="grpo"), Severity.WARNING)


def test_a_dip_that_recovers_is_healthy() -> None:
    curve = learning(200)
    curve[120:130] = 0.3
    assert silent(ID, run({"eval.reward": curve}))


def test_one_bad_last_evaluation_is_healthy() -> None:
    curve = learning(60, sd=0.02)
    curve[-1] = 0.5
    assert silent(ID, run({"eval.reward": curve}))


def test_a_plateau_is_healthy() -> None:
    assert silent(ID, run({"eval.reward": learning(200)}))


@pytest.mark.parametrize(("bottom", "severity"), [(1340.0, Severity.WARNING), (300.0, Severity.CRITICAL)])
def test_in_a_log_that_begins_in_mid_run_a_loss_is_a_share_of_the_level(bottom: float, severity: Severity) -> None:
    peaked = np.interp(np.arange(200), [0, 100, 200], [1360, 1400, bottom]) + noise(200, 2)
    made = Run(path="a-run", series={"eval.reward": series("eval.reward", peaked, 7000 + np.arange(200))})
    finding = found(ID, made)
    assert finding.severity is severity
    assert "of its level" in finding.message


def test_a_small_part_of_the_gain_says_little() -> None:
    score = np.concatenate([np.linspace(0, 1, 60), np.full(40, 0.8)]) + noise(100, 0.01)
    found(ID, run({"reward.mean": score}, algorithm="grpo"), Severity.WARNING, Confidence.LOW)


def test_right_answers_are_looked_at_where_the_reward_is_lost_in_its_noise() -> None:
    answers = np.concatenate([np.full(3, 0.95), np.full(17, 0.6)]) + noise(20, 0.01)
    assert found(ID, run({"reward.mean": noise(20), "reward.accuracy": answers})).metric == "reward.accuracy"
    assert silent(ID, run({"reward.mean": noise(20), "reward.accuracy": 0.6 + noise(20, 0.01)}))
    assert silent(ID, run({"reward.mean": learning(20), "reward.accuracy": answers}))
    warm = np.where(np.arange(20) < 1, 0.99, 0.6)  # collapsed to one answer at once: no gain was ever made
    assert found(ID, run({"reward.mean": noise(20), "reward.accuracy": warm})).severity is Severity.CRITICAL


def test_what_training_lost_counts_unless_the_evaluation_denies_it() -> None:
    few = series("eval.reward", 5 + noise(12, 6), np.linspace(1, 300, 12))
    kept = series("eval.reward", np.minimum(np.linspace(-4, 20, 12), 12) + noise(12, 0.3), np.linspace(1, 300, 12))

    def evaluated(end: float, evaluation: Series) -> Run:
        earned = np.concatenate([np.linspace(-4, 12, 200), np.full(100, end)]) + noise(300, 0.5)
        return Run(path="a-run", series={**run({"reward.mean": earned}).series, "eval.reward": evaluation})

    collapsed = found(ID, evaluated(-4.0, few))
    assert (collapsed.severity, collapsed.metric) == (Severity.CRITICAL, "reward.mean")
    found(ID, evaluated(4.0, few), Severity.WARNING, Confidence.MEDIUM)
    found(ID, evaluated(9.0, few), Severity.WARNING, Confidence.LOW)
    assert silent(ID, evaluated(9.0, kept))
    assert found(ID, evaluated(-4.0, kept)).severity is Severity.WARNING


def _evaluated(lost: float, sd: float, training_sd: float = 0.1) -> Run:
    """A run whose scores lose `lost` of their gain since 40 %: eleven evaluations, and a training reward at every step."""
    x = np.linspace(0, 1, 200)
    course = np.minimum(x / 0.4, 1) - lost * np.maximum(x - 0.4, 0) / 0.6
    at = np.arange(0, 200, 19)
    evaluation = series("eval.reward", (course + noise(200, sd, seed=2))[at], at + 1)
    training = series("reward.mean", course + noise(200, training_sd))
    return Run(path="a-run", series={"eval.reward": evaluation, "reward.mean": training})


def test_a_third_of_the_gain_lost_by_both_scores_is_critical() -> None:
    assert "training reward fell as well" in found(ID, _evaluated(0.35, 0.05), Severity.CRITICAL).message


def test_a_fall_that_is_not_certain_is_a_guess() -> None:
    finding = found(ID, _evaluated(0.4, 0.2, training_sd=0.3), Severity.WARNING, Confidence.LOW)
    assert "may have peaked" in finding.message


def test_evaluations_that_keep_their_level_are_no_loss() -> None:
    assert silent(ID, _evaluated(0.0, 0.05))
