"""training-below-evaluation: the policy gets another task in training."""

import numpy as np

from firstbreak.model import Status
from tests.detectors.look import found, look, silent
from tests.make import run

ID = "training-below-evaluation"
N = 60
EVALUATION = 0.4 + 0.002 * np.arange(N)


def test_a_policy_that_fails_only_in_training_is_found() -> None:
    curves = {"eval.accuracy": EVALUATION, "reward.mean": np.full(N, 0.01), "length.mean": np.full(N, 50.0)}
    finding = found(ID, run(curves, algorithm="grpo"))
    assert finding.onset == 1
    assert "0.4" in finding.message


def test_training_that_starts_where_the_evaluation_does_is_healthy() -> None:
    assert silent(ID, run({"eval.accuracy": EVALUATION, "reward.mean": EVALUATION - 0.05}, algorithm="grpo"))


def test_rewards_on_another_scale_are_not_compared() -> None:
    outcome = look(ID, run({"eval.accuracy": EVALUATION, "reward.mean": np.full(N, -3.0)}, algorithm="grpo"))
    assert outcome.status is Status.NOT_MEASURED
