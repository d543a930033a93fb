"""importance-weight-off: a mean ratio that is not 1."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "importance-weight-off"
RATIO = "policy.ratio.mean"
ONE_STEP = {"updates_per_batch": 1}


def test_with_one_step_per_batch_a_percent_is_too_much() -> None:
    values = 1.015 + noise(50, 0.002)
    assert "exactly 1" in found(ID, run({RATIO: values}, config=ONE_STEP), Severity.WARNING).message
    assert silent(ID, run({RATIO: values}, config={"updates_per_batch": 16}))


def test_a_drastic_ratio_stops_the_run() -> None:
    finding = found(ID, run({RATIO: np.where(np.arange(60) < 20, 1.0, 2.0) + noise(60, 0.004)}), Severity.CRITICAL)
    assert finding.onset == 21


@pytest.mark.parametrize("level", [0.85, 1.2])
def test_both_sides_of_1_count(level: float) -> None:
    assert found(ID, run({RATIO: level + noise(50, 0.01)})).severity is Severity.WARNING


def test_a_ratio_about_1_is_healthy() -> None:
    assert silent(ID, run({RATIO: 1 + noise(50, 0.01)}))
    assert silent(ID, run({RATIO: [1.0] * 20}, config=ONE_STEP))


def test_a_first_step_without_warm_up_is_forgiven() -> None:
    values = 1 + noise(50, 0.005)
    values[0] = 1.9
    assert silent(ID, run({RATIO: values}))


def test_a_trainer_that_sums_over_the_updates_is_understood() -> None:
    ratios = 4 + noise(50, 0.02)
    assert silent(ID, run({RATIO: ratios}, trainer="nemo_rl", config={"updates_per_batch": 4}))
    assert found(ID, run({RATIO: ratios}, trainer="verl", config={"updates_per_batch": 4}))


def test_the_remedy_depends_on_the_number_of_minibatches() -> None:
    values = {RATIO: 0.95 + noise(50, 0.002)}
    several = found(ID, run(values, algorithm="grpo", config={"updates_per_batch": 4})).message
    single = found(ID, run(values, algorithm="grpo", config=ONE_STEP)).message
    assert "fewer minibatches" in several
    assert "fewer minibatches" not in single
    assert "deterministic algorithms" in single
