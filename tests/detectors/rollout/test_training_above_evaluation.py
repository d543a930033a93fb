"""training-above-evaluation: training samples or grades more kindly."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "training-above-evaluation"
N = 60
EVALUATION = 0.4 + 0.002 * np.arange(N)


def test_training_that_starts_far_above_is_found() -> None:
    assert found(ID, run({"eval.accuracy": EVALUATION, "reward.mean": EVALUATION + 0.3}, algorithm="grpo")).onset == 1


def test_training_that_starts_where_the_evaluation_does_is_healthy() -> None:
    assert silent(ID, run({"eval.accuracy": EVALUATION, "reward.mean": EVALUATION + 0.05}, algorithm="grpo"))


def test_a_gap_that_the_noise_of_one_evaluation_explains_is_healthy() -> None:
    wild = EVALUATION + 0.12 * np.where(np.arange(N) % 2 == 0, -1, 1)
    assert silent(ID, run({"eval.accuracy": wild, "reward.mean": EVALUATION + 0.05}, algorithm="grpo"))
