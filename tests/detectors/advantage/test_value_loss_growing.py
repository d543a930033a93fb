"""value-loss-growing."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "value-loss-growing"
GROWING = np.exp(np.linspace(0, 4, 120)) * (1 + noise(120, 0.05))


def test_a_loss_that_runs_away_from_a_flat_score() -> None:
    assert found(ID, run({"value.loss": GROWING, "reward.mean": noise(120)})).severity is Severity.WARNING


def test_a_loss_that_grows_with_the_returns_is_healthy() -> None:
    assert silent(ID, run({"value.loss": GROWING, "reward.mean": learning(120)}))


def test_a_loss_at_the_maximum_return_is_healthy() -> None:
    capped = np.minimum(200, learning(120, 20, 400, sd=0))
    assert silent(ID, run({"value.loss": GROWING, "reward.mean": capped}))


def test_a_loss_that_falls_is_healthy() -> None:
    assert silent(ID, run({"value.loss": GROWING[::-1], "reward.mean": noise(120)}))


@pytest.mark.parametrize("at", [10, 60, 170, 188])
def test_a_loss_that_jumps_and_stays_is_found_wherever_it_lies(at: int) -> None:
    loss = np.where(np.arange(200) < at, 1.0, 12.0) * np.exp(noise(200, 0.2))
    finding = found(ID, run({"value.loss": loss, "reward.mean": noise(200)}))
    assert finding.onset == pytest.approx(at + 1, abs=3)
    assert finding.numbers["growth"] == pytest.approx(12, rel=0.4)


def test_a_loss_that_comes_back_is_healthy() -> None:
    bump = (np.arange(200) >= 60) & (np.arange(200) < 90)
    assert silent(
        ID, run({"value.loss": np.where(bump, 12.0, 1.0) * np.exp(noise(200, 0.2)), "reward.mean": noise(200)})
    )
