"""evaluation-left-behind: a policy that is shown something else where it is evaluated."""

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "evaluation-left-behind"


def test_training_that_rises_alone_is_found() -> None:
    curves = {"reward.mean": learning(60, -200, 2000), "eval.reward": -200 + noise(60, 60)}
    finding = found(ID, run(curves, algorithm="ppo"), confidence=Confidence.HIGH)
    assert "normalisation" in finding.message


def test_a_fast_learner_is_measured_from_its_first_returns() -> None:
    fast = np.r_[np.linspace(-300, 2000, 30), np.linspace(2000, 2300, 470)]
    evaluation = np.array([-470.0, -452, -420, -396, -401, -415, -387, -359, -240, -106])
    made = run({"reward.mean": fast + noise(500, 20)}, algorithm="sac")
    scores = series("eval.reward", evaluation, np.arange(50, 501, 50))
    assert found(ID, replace(made, series={**made.series, "eval.reward": scores})).metric == "eval.reward"


def test_an_evaluation_that_follows_is_healthy() -> None:
    curves = {"reward.mean": learning(60, 0, 400), "eval.reward": learning(60, 0, 350, seed=1)}
    assert silent(ID, run(curves, algorithm="ppo"))


def test_training_that_does_not_learn_leaves_nothing_behind() -> None:
    assert silent(ID, run({"reward.mean": noise(60), "eval.reward": -1 + noise(60, seed=1)}, algorithm="ppo"))


def test_a_shared_collapse_is_another_finding() -> None:
    collapse = np.r_[np.linspace(0, 400, 30), np.full(30, 5.0)]
    assert silent(ID, run({"reward.mean": collapse, "eval.reward": collapse + noise(60)}, algorithm="ppo"))


def test_few_evaluations_say_nothing() -> None:
    assert look(ID, run({"reward.mean": learning(60), "eval.reward": [0.0, 0.0]})).status is Status.NOT_MEASURED
