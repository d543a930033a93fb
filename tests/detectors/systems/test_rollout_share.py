"""rollout-share: the rollout takes over, the trainer waits for it, or one completion holds up the batch."""

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


def test_a_wait_that_grows_is_found() -> None:
    wait = np.where(np.arange(N) < 45, 2.0, 40.0) + np.abs(noise(N))
    finding = found(ID, run({"time.wait_batch": wait, "time.step": wait + 40}), Severity.WARNING)
    assert finding.onset == pytest.approx(46, abs=3)


def test_a_steady_long_wait_is_a_notice_for_where_the_data_come_from() -> None:
    waits = {"time.wait_frac": 0.7 + noise(N, 0.02)}
    assert "generation" in found(ID, run(waits, algorithm="grpo"), Severity.NOTICE).message
    assert "environments" in found(ID, run(waits, algorithm="ppo")).message


@pytest.mark.parametrize("waits", [0.2 + noise(N, 0.05), np.linspace(0.6, 0.1, N)])
def test_a_short_wait_is_the_cost_of_fresh_data_and_one_that_falls_is_healthy(waits: np.ndarray) -> None:
    assert silent(ID, run({"time.wait_frac": waits}))


@pytest.mark.parametrize("curves", [{}, {"time.step": [100.0] * N}])
def test_a_wait_without_the_step_or_counted_since_the_start_is_no_share(curves: dict[str, list[float]]) -> None:
    assert look(ID, run({"time.wait_batch": 5.0 * np.arange(N), **curves})).status is Status.NOT_MEASURED


def test_a_growing_wait_comes_before_a_steady_rollout() -> None:
    wait = np.where(np.arange(N) < 45, 0.1, 0.4) + noise(N, 0.02)
    both = timed(np.full(N, 600.0))
    both.series["time.wait_frac"] = run({"time.wait_frac": wait}).series["time.wait_frac"]  # type: ignore[index]
    assert "waits for data" in found(ID, both, Severity.WARNING).message


def lengths(longest: np.ndarray, rollout: float = 70.0) -> Run:
    times = {"time.rollout": rollout + noise(N), "time.step": np.full(N, 100.0)}
    return run({"length.mean": 500 + noise(N, 10), "length.max": longest + noise(N, 50, 1), **times}, algorithm="grpo")


def test_a_steady_tail_is_a_notice() -> None:
    assert "8 times the mean" in found(ID, lengths(np.full(N, 4000.0)), Severity.NOTICE).message
    assert "8 times the mean" in found(ID, lengths(np.full(N, 4000.0), rollout=80.0)).message


def test_a_tail_that_grows_is_a_warning() -> None:
    assert found(ID, lengths(np.where(np.arange(N) < 25, 1200.0, 6000.0)), Severity.WARNING).onset == 26


@pytest.mark.parametrize(("longest", "rollout"), [(1200.0, 70.0), (4000.0, 20.0)])
def test_a_short_tail_and_one_beside_a_long_update_are_healthy(longest: float, rollout: float) -> None:
    assert silent(ID, lengths(np.full(N, longest), rollout))
