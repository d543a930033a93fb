"""evaluation-in-steps: the evaluation sees new weights only now and then."""

import numpy as np

from firstbreak.engine.inputs import Inputs
from tests.detectors.look import found, look, silent
from tests.make import learning, run

ID = "evaluation-in-steps"
N = 24
TRAINING = {"policy.entropy": np.linspace(2, 1, 100)}


def test_numbers_that_repeat_in_blocks_are_found() -> None:
    blocks = np.repeat([0.31, 0.42, 0.47, 0.55, 0.61, 0.64], 4)
    assert "5 times" in found(ID, run({"eval.accuracy": blocks, **TRAINING}, algorithm="grpo")).message


def test_numbers_that_differ_are_healthy() -> None:
    assert silent(ID, run({"eval.accuracy": np.linspace(0.3, 0.6, N), **TRAINING}, algorithm="grpo"))


def test_a_ceiling_that_repeats_is_healthy() -> None:
    ceiling = np.concatenate([[0.3, 0.6, 0.8, 0.9], np.ones(20)])
    assert silent(ID, run({"eval.accuracy": ceiling, **TRAINING}, algorithm="grpo"))


def test_a_table_that_carries_the_last_evaluation_has_each_once() -> None:
    carried = np.repeat(learning(20), 50)
    made = run({"eval.reward": carried, "reward.mean": learning(1000)})
    assert silent(ID, made)
    chosen = Inputs(made).eval_score
    assert list(chosen.steps) == list(range(1, 1000, 50))


def test_a_ceiling_is_not_one_long_evaluation() -> None:
    made = run({"eval.reward": np.concatenate([learning(10, 100, 480), np.full(290, 500.0)])})
    assert len(Inputs(made).eval_score) == 300


def test_a_share_of_few_items_repeats_by_chance() -> None:
    of_16 = np.array([7, 4, 9, 9, 8, 8, 8, 8, 8, 8, 8, 10]) / 16
    outcome = look(ID, run({"eval.accuracy": of_16, **TRAINING}, algorithm="grpo"))
    assert outcome.finding is None
    assert "32 items" in outcome.note
