"""reward-outlier: one sample makes the update."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "reward-outlier"
MEAN = noise(100, 0.1)


def test_extreme_rewards_that_come_again_and_again() -> None:
    top = 1 + noise(100, 0.1, 1)
    top[[20, 50, 80]] = 500.0
    finding = found(ID, run({"reward.mean": MEAN, "reward.max": top}))
    assert finding.onset == 21
    assert finding.severity is Severity.WARNING


def test_low_rewards_that_come_again_while_the_score_rises() -> None:
    rising = np.linspace(0, 3, 100) + MEAN
    far = 1 + noise(100, 0.1, 1)
    far[[20, 50, 80]] = 500.0
    usual = noise(100, 0.1, 2)
    assert found(ID, run({"reward.mean": rising, "reward.min": -far, "reward.max": 20 + usual})).metric == "reward.min"
    assert silent(ID, run({"reward.mean": rising, "reward.max": far, "reward.min": usual - 1}))


def test_ordinary_extremes_are_healthy() -> None:
    assert silent(
        ID, run({"reward.mean": MEAN, "reward.max": 1 + noise(100, 0.1, 1), "reward.min": -1 + noise(100, 0.1, 2)})
    )


def test_without_extremes_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": MEAN})).status is Status.NOT_MEASURED


def test_batches_that_are_spread_out_again_and_again() -> None:
    spread = 0.4 + noise(100, 0.02, 1)
    assert silent(ID, run({"reward.mean": MEAN, "reward.std": spread}))
    spread[[20, 50, 80]] = 6.0
    finding = found(ID, run({"reward.mean": MEAN, "reward.std": spread}))
    assert finding.onset == 21
    assert "clip or normalise" in finding.message


def test_sparse_rewards_in_small_batches_are_healthy() -> None:
    spread = 0.1 + 0.02 * noise(100, 1, 1)
    spread[::2] = 0.0
    spread[::6] = 1.4
    assert silent(ID, run({"reward.mean": MEAN, "reward.std": spread}))
