"""score-missing: a log without a score."""

import numpy as np

from firstbreak.model import Status
from tests.detectors.look import look, silent
from tests.make import noise, run, series

ID = "score-missing"


def test_losses_are_not_a_score() -> None:
    outcome = look(ID, run({"loss.total": noise(100), "lr": [1e-6] * 100}))
    assert outcome.status is Status.NOT_MEASURED
    assert "2 recorded curves" in outcome.note


def test_names_that_look_like_a_score_are_shown() -> None:
    unknown = {"my/task_reward": series("my/task_reward", noise(9))}
    assert "my/task_reward" in look(ID, run({"loss.total": noise(9)}, unknown=unknown)).note


def test_a_run_without_a_curve_shows_nothing() -> None:
    assert look(ID, run({})).status is Status.NOT_MEASURED


def test_a_score_without_a_number_is_none() -> None:
    assert look(ID, run({"reward.mean": [np.nan] * 10})).status is Status.NOT_MEASURED


def test_one_score_is_enough_to_be_there() -> None:
    assert look(ID, run({"reward.mean": [0.3]})).finding is None
    assert silent(ID, run({"eval.accuracy": [0.3]}))


def test_without_an_evaluation_nothing_was_measured() -> None:
    outcome = look(ID, run({"reward.mean": np.linspace(0, 1, 100)}))
    assert outcome.status is Status.NOT_MEASURED
    assert "does not prove ability" in outcome.note


def test_supervised_training_has_its_loss_for_a_score() -> None:
    assert silent(ID, run({"loss.total": 2 + noise(100, 0.1), "lr": [1e-5] * 100}))
