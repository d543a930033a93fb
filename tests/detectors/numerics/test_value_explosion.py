"""value-explosion: a critic that chases its own prediction."""

import numpy as np

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "value-explosion"
N = 200
LOSS, VALUE = "value.loss", "value.mean"
CALM = np.exp(noise(N, 0.3))
FLAT = 20 + noise(N, 3)
RUNAWAY = CALM * np.where(np.arange(N) < 80, 1.0, np.exp((np.arange(N) - 80) / 8))


def test_a_loss_without_bound_stops_the_run() -> None:
    finding = found(ID, run({LOSS: RUNAWAY, "reward.mean": FLAT}, algorithm="ppo"), Severity.CRITICAL)
    assert finding.interval is not None
    assert finding.interval[0] <= 100
    assert finding.onset is not None
    assert finding.onset >= 60


def test_values_far_above_every_return_are_found() -> None:
    finding = found(ID, run({VALUE: 10 * np.geomspace(1, 1000, N) * CALM, "reward.mean": FLAT}, algorithm="dqn"))
    assert finding.metric == VALUE


def test_the_scale_of_rewards_does_not_matter() -> None:
    for scale in (1e-4, 1e4):
        assert found(ID, run({LOSS: scale * RUNAWAY, "reward.mean": scale * FLAT})).severity is Severity.CRITICAL


def test_growth_by_two_orders_is_a_warning() -> None:
    loss = CALM * np.where(np.arange(N) < 100, 1, 300)
    assert found(ID, run({LOSS: loss, "reward.mean": FLAT})).severity is Severity.WARNING


def test_without_a_score_the_confidence_is_low() -> None:
    finding = found(ID, run({LOSS: RUNAWAY}), confidence=Confidence.LOW)
    assert finding.severity is Severity.WARNING


def test_a_loss_that_grows_with_the_returns_is_expected() -> None:
    assert look(ID, run({LOSS: CALM * np.geomspace(1, 1e5, N), "reward.mean": learning(N, 0, 500)})).expected


def test_a_score_that_never_changes_cannot_judge() -> None:
    made = run({LOSS: RUNAWAY, "reward.mean": [200.0] * N}, algorithm="dqn")
    assert look(ID, made).status is Status.NOT_MEASURED


def test_values_may_grow_from_0_to_the_size_of_the_returns() -> None:
    values = -21 * (1 - np.exp(-np.arange(N) / 200)) ** 2
    assert silent(ID, run({VALUE: values, "reward.mean": -21 + np.abs(noise(N, 0.1))}, algorithm="ppo"))


def test_a_loss_that_falls_is_healthy() -> None:
    assert silent(ID, run({LOSS: CALM * np.geomspace(10, 0.1, N), "reward.mean": FLAT}))


def test_groups_have_no_critic() -> None:
    assert look(ID, run({"reward.mean": FLAT}, algorithm="grpo")).status is Status.NOT_APPLICABLE
