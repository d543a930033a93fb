"""step-time-spikes: steps that take many times as long."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import expected, found, silent
from tests.make import noise, run

ID = "step-time-spikes"
N = 200
CALM = 10 * np.exp(noise(N, 0.05))
EVERY_25 = np.arange(1, N + 1) % 25 == 0


def test_a_background_job_shows_its_period() -> None:
    finding = found(ID, run({"time.step": np.where(EVERY_25, 60.0, CALM)}), Severity.NOTICE)
    assert finding.numbers["every"] == 25
    assert "every 25 steps" in finding.message


def test_a_job_that_costs_much_of_the_time_is_a_warning() -> None:
    assert found(ID, run({"time.step": np.where(EVERY_25, 200.0, CALM)})).severity is Severity.WARNING


def test_a_job_that_takes_every_other_stretch_is_found() -> None:
    busy = (np.arange(N) >= 60) & ((np.arange(N) - 60) % 16 < 8)
    finding = found(ID, run({"time.step": np.where(busy, 6 * CALM, CALM)}))
    assert finding.onset == 61
    assert finding.numbers["every"] == 16


def test_without_a_step_time_its_phases_are_added() -> None:
    curves = {"time.rollout": 0.4 * CALM, "time.train": np.where(EVERY_25, 60.0, 0.6 * CALM)}
    assert found(ID, run(curves)).metric == "time.step"


def test_stragglers_have_no_period() -> None:
    times = CALM.copy()
    times[[17, 31, 68, 99, 154, 161]] = 90.0
    assert "slowest worker" in found(ID, run({"time.step": times})).message


@pytest.mark.parametrize(("option", "job"), [("save_interval", "saving"), ("eval_interval", "evaluating")])
def test_a_planned_job_is_expected(option: str, job: str) -> None:
    assert job in expected(ID, run({"time.step": np.where(EVERY_25, 60.0, CALM)}, config={option: 25}))


def test_a_rollout_that_serves_several_updates_is_expected() -> None:
    made = np.arange(N) % 4 == 0
    curves = {"time.step": np.where(made, 4 * CALM, CALM), "reward.mean": np.where(made, CALM, np.nan)}
    assert "every 4 steps one step is slow because of a new rollout" in expected(ID, run(curves))
    assert found(ID, run({**curves, "reward.mean": CALM})).numbers["every"] == 4


@pytest.mark.parametrize(
    "times",
    [
        CALM,
        np.where(np.arange(N) == 0, 300.0, CALM),  # compiles
        np.where(np.arange(N) < 100, CALM, 3 * CALM),  # slower for good: another finding
        np.where(EVERY_25, 1.3 * CALM, CALM),  # costs nothing
        10 * np.exp(noise(N, 0.4)),  # as long as the completions happen to be
        CALM * np.linspace(1, 3, N),  # longer completions
    ],
    ids=["calm", "first", "shift", "small", "varied", "longer"],
)
def test_healthy_times(times: np.ndarray) -> None:
    assert silent(ID, run({"time.step": times}))


def test_an_iteration_is_a_step_of_the_outer_loop() -> None:
    assert found(ID, run({"time.iteration": np.where(EVERY_25, 60.0, CALM)})).metric == "time.iteration"


def test_where_most_steps_are_slow_the_quick_ones_are_the_exception() -> None:
    several_updates_per_rollout = np.arange(N) % 3 != 0
    assert silent(ID, run({"time.step": np.where(several_updates_per_rollout, 5 * CALM, CALM)}))


def test_a_job_is_seen_by_its_period_where_single_steps_do_not_stand_out() -> None:
    busy = np.arange(N) % 6 == 5
    noisy = 10 * np.exp(noise(N, 0.35, 4))
    assert found(ID, run({"time.step": np.where(busy, 2.2, 1) * noisy})).numbers["every"] == 6
    assert silent(ID, run({"time.step": noisy}))


def test_steps_that_are_slow_because_they_evaluate_are_expected() -> None:
    evaluates = np.arange(N) % 3 == 2
    curves = {"time.rollout": CALM, "time.train": CALM, "time.eval": np.where(evaluates, 30.0, np.nan)}
    assert "evaluating" in expected(ID, run(curves))


def test_a_job_that_comes_more_often_than_saving_is_not_saving() -> None:
    every_10 = np.arange(1, N + 1) % 10 == 0
    finding = found(ID, run({"time.step": np.where(every_10, 90.0, CALM)}, config={"save_interval": 500}))
    assert finding.numbers["every"] == 10
