"""phase-imbalance: a trainer that waits."""

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "phase-imbalance"
N = 80


def test_a_wait_that_grows_is_found() -> None:
    wait = np.where(np.arange(N) < 45, 2.0, 40.0) + np.abs(noise(N))
    finding = found(ID, run({"time.wait_batch": wait, "time.step": wait + 40}), Severity.WARNING)
    assert finding.onset == pytest.approx(46, abs=3)


def test_a_steady_long_wait_is_a_notice() -> None:
    assert found(ID, run({"time.wait_frac": 0.7 + noise(N, 0.02)})).severity is Severity.NOTICE


def test_a_short_wait_is_the_cost_of_fresh_data() -> None:
    assert silent(ID, run({"time.wait_frac": 0.2 + noise(N, 0.05)}))


def test_a_wait_that_falls_is_healthy() -> None:
    assert silent(ID, run({"time.wait_frac": np.linspace(0.6, 0.1, N)}))


def test_a_wait_without_the_step_is_no_share() -> None:
    assert look(ID, run({"time.wait_batch": [9.0] * N})).status is Status.NOT_MEASURED


def test_a_wait_counted_since_the_start_is_no_share() -> None:
    curves = {"time.wait_batch": 5.0 * np.arange(N), "time.step": [100.0] * N}
    assert look(ID, run(curves)).status is Status.NOT_MEASURED


def test_the_advice_is_for_where_the_data_come_from() -> None:
    waits = {"time.wait_frac": 0.7 + noise(N, 0.02)}
    assert "generation" in found(ID, run(waits, algorithm="grpo")).message
    assert "environments" in found(ID, run(waits, algorithm="ppo")).message
