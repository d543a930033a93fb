"""learning-rate-jump: a rate that jumps up in mid-run."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "learning-rate-jump"
N = 60
SCHEDULE = np.linspace(1e-3, 1e-4, N)


def test_a_rate_that_jumps_is_found() -> None:
    assert found(ID, run({"lr": np.where(np.arange(N) < 30, SCHEDULE, 10 * SCHEDULE)})).onset == 31


def test_a_schedule_that_falls_is_healthy() -> None:
    assert silent(ID, run({"lr": SCHEDULE}))


def test_a_warm_up_is_healthy() -> None:
    assert silent(ID, run({"lr": np.minimum(1.0, (np.arange(N) + 1) / 10) * 1e-3}))
