"""overfitting: a held-out loss that turns while the training loss goes on falling."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Run, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run, series

ID = "overfitting"
PASSES = np.repeat([1.6, 1.1, 0.6, 0.3], 100)  #: a training loss that drops with every pass over the data


def trained(held_out: object, training: object = PASSES) -> Run:
    """400 updates, evaluated every 40."""
    losses = np.asarray(held_out, dtype=float)
    made = run({"loss.total": np.asarray(training) + noise(400, 0.05), "lr": [1e-5] * 400})
    return run_with(made, losses)


def run_with(made: Run, losses: np.ndarray) -> Run:
    every = np.linspace(40, 400, len(losses))
    object.__setattr__(made, "series", {**made.series, "eval.loss": series("eval.loss", losses, every)})
    return made


LEARNED_BY_HEART = [1.60, 1.50, 1.42, 1.40, 1.41, 1.45, 1.52, 1.60, 1.68, 1.75]


def test_a_held_out_loss_that_turns_is_found_where_it_was_lowest() -> None:
    finding = found(ID, trained(LEARNED_BY_HEART))
    assert finding.onset == 160
    assert "perplexity" in finding.message
    assert finding.numbers["rise"] == pytest.approx(0.28)


def test_the_diagnosis_names_over_fitting_and_the_checkpoint_to_go_back_to() -> None:
    said = diagnose(trained(LEARNED_BY_HEART))
    assert said.causes[0].id == "over-fitted"
    assert said.best_checkpoint is not None
    assert said.best_checkpoint.metric == "eval.loss"
    assert said.best_checkpoint.value == pytest.approx(1.4, abs=0.02)
    assert said.verdict.action is not Action.CONTINUE


def test_a_held_out_loss_that_falls_or_holds_is_none() -> None:
    assert silent(ID, trained(np.linspace(1.6, 1.2, 10)))
    assert silent(ID, trained([1.6, 1.5, 1.45, 1.42, 1.41, 1.40, 1.40, 1.41, 1.41, 1.42]))


def test_one_bad_evaluation_at_the_end_is_none() -> None:
    assert silent(ID, trained([1.6, 1.5, 1.45, 1.42, 1.41, 1.40, 1.40, 1.40, 1.40, 1.7]))


def test_where_the_training_loss_rises_too_it_is_no_over_fitting() -> None:
    diverged = np.linspace(1.0, 3.0, 400)
    assert silent(ID, trained([1.0, 1.2, 1.5, 1.7, 1.9, 2.1, 2.3, 2.5, 2.8, 3.0], diverged))


def test_a_reward_makes_it_no_supervised_training() -> None:
    made = run({"reward.mean": noise(400), "loss.total": PASSES})
    assert look(ID, run_with(made, np.array(LEARNED_BY_HEART))).status is Status.NOT_APPLICABLE
