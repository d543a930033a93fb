"""rollout-share: the rollout takes over."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "rollout-share"
N = 80


def timed(rollout: np.ndarray, rest: float = 40.0, whole: str = "time.step") -> Run:
    seconds = rollout * np.exp(noise(N, 0.05))
    return run({"time.rollout": seconds, whole: seconds + rest + noise(N, 0.5, seed=1)})


def test_a_share_that_grows_is_found() -> None:
    finding = found(ID, timed(np.where(np.arange(N) < 45, 30.0, 120.0)), Severity.WARNING)
    assert finding.onset == pytest.approx(46, abs=4)


def test_a_rollout_that_is_nearly_all_of_a_step_is_a_notice() -> None:
    assert found(ID, timed(np.full(N, 600.0))).severity is Severity.NOTICE


def test_generation_is_slow_by_nature() -> None:
    assert silent(ID, timed(np.full(N, 100.0)))


def test_a_share_that_falls_is_healthy() -> None:
    assert silent(ID, timed(np.linspace(100, 20, N)))


def test_an_iteration_is_a_step_of_the_outer_loop() -> None:
    assert found(ID, timed(np.full(N, 600.0), whole="time.iteration"))


def test_both_times_are_needed() -> None:
    assert look(ID, run({"time.rollout": [9.0] * N})).status is Status.NOT_MEASURED


def test_without_a_step_time_the_phases_are_added() -> None:
    rollout = np.where(np.arange(N) < 45, 30.0, 120.0) + noise(N)
    assert found(ID, run({"time.rollout": rollout, "time.train": 40 + noise(N, seed=1)})).severity is Severity.WARNING


def test_a_rollout_that_overlaps_the_step_has_no_share() -> None:
    curves = {"time.rollout": 150 + noise(N), "time.step": [100.0] * N}
    assert look(ID, run(curves)).status is Status.NOT_MEASURED


def test_the_advice_is_for_what_acts() -> None:
    slow = timed(np.full(N, 600.0))
    assert "environment" in found(ID, slow).message
    slow.series["length.mean"] = slow.series["time.rollout"]  # type: ignore[index]
    assert "completion" in found(ID, slow).message
