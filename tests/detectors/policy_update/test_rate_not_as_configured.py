"""A warm-up that is longer than the run."""

from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.model import Run
from tests.detectors.look import found, silent
from tests.detectors.recorded import proof, recorded
from tests.make import run


def warming_up(over: int) -> list[dict[str, Any]]:
    return [{"rate": min(1.0, step / over) * 1e-4, "configured_rate": 1e-4} for step in range(1, 21)]


def test_a_warm_up_longer_than_the_run_is_proved(tmp_path: Path) -> None:
    assert "the learning rate is 1e-05 of" in proof(recorded(tmp_path, "rate-not-as-configured", *warming_up(100_000)))


def test_a_rate_that_stays_below_the_configured_one_is_proved(tmp_path: Path) -> None:
    """Nothing is drawn by chance: 0.024 of the rate is as wrong as 0.019."""
    low = [{"rate": 2.4e-6, "configured_rate": 1e-4}] * 12
    assert "find what sets it" in proof(recorded(tmp_path, "rate-not-as-configured", *low))


def test_the_end_of_a_schedule_is_silent(tmp_path: Path) -> None:
    end = [{"rate": 1e-5 * (1 - step / 20), "configured_rate": 1e-4} for step in range(20)]
    assert recorded(tmp_path, "rate-not-as-configured", *end).finding is None


def test_a_warm_up_of_some_updates_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "rate-not-as-configured", *warming_up(15)).finding is None


def test_a_rate_in_force_that_is_higher_than_configured_is_reported() -> None:
    def logged(rate: float) -> Run:
        return run({"lr": np.full(30, rate)}, config={"learning_rate": 1e-4}, algorithm="ppo")

    assert "find what sets it" in found("rate-not-as-configured", logged(3e-4)).message
    assert silent("rate-not-as-configured", logged(1e-4))
