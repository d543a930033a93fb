"""random-actions-remain: an epsilon that stays high, or that is set back."""

import numpy as np
import pytest

from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "random-actions-remain"
FALLS = np.maximum(0.05, 1 - np.arange(100) / 30)
SET_BACK = np.where(np.arange(100) < 60, FALLS, 0.9)


def test_an_epsilon_that_is_set_back_is_named_with_its_step_and_what_it_cost() -> None:
    fallen = np.where(np.arange(100) < 60, learning(100, 20, 180), 22) + noise(100, 4)
    finding = found(ID, run({"epsilon": SET_BACK, "reward.mean": fallen}, algorithm="dqn"))
    assert finding.onset == 61
    assert "rose from 0.05 to 0.9 at step 61" in finding.message
    assert "and the training reward fell" in finding.message
    assert "fell" not in found(ID, run({"epsilon": SET_BACK}, algorithm="dqn")).message


def test_an_epsilon_that_stays_high_is_named() -> None:
    assert "still random at the end" in found(ID, run({"epsilon": np.maximum(0.7, FALLS)}, algorithm="dqn")).message


@pytest.mark.parametrize(
    "epsilon",
    [
        FALLS,
        np.linspace(1, 0.6, 100),  # the log ends before the schedule
        np.where(np.arange(100) == 50, 0.9, FALLS),  # one value
        np.where(np.arange(100) < 60, FALLS, 0.2),  # a little more
    ],
)
def test_schedules_that_fall_are_silent(epsilon: np.ndarray) -> None:
    silent(ID, run({"epsilon": epsilon}, algorithm="dqn"))
