"""learning-rate-gone: a schedule that ends long before the run does."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import run

ID = "learning-rate-gone"
N = 200
X = np.linspace(0, 1, N)


def test_a_schedule_that_ends_after_a_third_is_found() -> None:
    finding = found(ID, run({"lr": 1e-3 * np.maximum(1 - 3 * X, 1e-6)}))
    assert 65 <= finding.onset <= 70
    assert "67 % of the run" in str(finding.message)


@pytest.mark.parametrize(
    "schedule",
    [1 - X, (1 + np.cos(np.pi * X)) / 2, np.maximum(0.1, 1 - 3 * X), np.minimum(1.0, 5 * X), np.exp(-4 * X)],
    ids=["linear", "cosine", "a tenth is left", "warm-up", "exponential"],
)
def test_usual_schedules_are_healthy(schedule: np.ndarray) -> None:
    assert silent(ID, run({"lr": 1e-3 * schedule}))


def test_a_rate_of_exactly_0_is_told_once() -> None:
    curves = {"lr": np.where(X < 0.5, 1e-3, 0.0)}
    assert found(ID, run(curves)).severity is Severity.CRITICAL
    assert silent("no-update", run(curves))


def test_a_schedule_of_ten_updates_is_no_rounding() -> None:
    assert found(ID, run({"lr": [*np.linspace(9e-4, 1e-4, 9), *[0.0] * 60]})).onset == 10
