"""entropy-at-maximum: a policy that learns and still plays at random."""

import math

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "entropy-at-maximum"
RANDOM = math.log(2)


def test_a_policy_that_learns_and_stays_random_is_found() -> None:
    curves = {"policy.entropy": 0.99 * RANDOM + noise(60, 0.002), "reward.mean": learning(60, 20, 400)}
    assert "entropy bonus" in found(ID, run(curves, algorithm="ppo"), Severity.WARNING).message


def test_entropy_that_falls_with_learning_is_healthy() -> None:
    curves = {"policy.entropy": np.linspace(RANDOM, 0.5, 60), "reward.mean": learning(60, 20, 400)}
    assert silent(ID, run(curves, algorithm="ppo"))


def test_a_flat_score_is_another_finding() -> None:
    assert silent(ID, run({"policy.entropy": np.full(60, RANDOM), "reward.mean": noise(60)}, algorithm="ppo"))


def test_continuous_actions_have_no_largest_entropy() -> None:
    curves = {"policy.entropy": np.full(60, RANDOM), "reward.mean": learning(60), "action.std": np.ones(60)}
    assert look(ID, run(curves, algorithm="ppo")).status is Status.NOT_APPLICABLE


def test_an_entropy_that_begins_elsewhere_is_not_judged() -> None:
    curves = {"policy.entropy": np.full(60, 0.9), "reward.mean": learning(60)}
    assert look(ID, run(curves, algorithm="ppo")).status is Status.NOT_MEASURED


def test_an_entropy_that_exceeds_its_start_has_another_maximum() -> None:
    curves = {"policy.entropy": np.linspace(RANDOM, 1.1 * RANDOM, 60), "reward.mean": learning(60, 20, 400)}
    assert look(ID, run(curves, algorithm="ppo")).status is Status.NOT_MEASURED
