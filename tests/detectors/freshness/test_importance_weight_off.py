"""importance-weight-off: a mean ratio, or a mean weight of old data, that is not 1."""

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "importance-weight-off"
RATIO = "policy.ratio.mean"
BEHAVE, CAPPED = "behave.ratio.mean", "behave.ratio_cap_frac"
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


def test_a_weight_of_old_data_off_1_is_found_where_it_began() -> None:
    curves = {RATIO: [1.0] * 60, BEHAVE: np.where(np.arange(60) < 25, 1.0, 1.3) + noise(60, 0.02)}
    assert found(ID, run(curves, algorithm="grpo"), Severity.WARNING).onset == 26
    assert silent(ID, run({BEHAVE: 1 + noise(60, 0.02), CAPPED: np.abs(noise(60, 0.01))}, algorithm="grpo"))


def test_many_capped_tokens_are_found_behind_a_mean_of_1() -> None:
    finding = found(ID, run({BEHAVE: 1 + noise(60, 0.01), CAPPED: 0.25 + noise(60, 0.02)}, algorithm="grpo"))
    assert finding.metric == CAPPED
    assert "of the tokens" in finding.message


@pytest.mark.parametrize("curves", [{BEHAVE: 2.5 + noise(60, 0.1)}, {CAPPED: 0.8 + noise(60, 0.02)}])
def test_a_broken_bridge_to_old_data_stops_the_run(curves: dict[str, np.ndarray]) -> None:
    assert found(ID, run(curves, algorithm="grpo"), Severity.CRITICAL)


def test_a_replay_buffer_needs_no_such_weight() -> None:
    assert look(ID, run({"reward.mean": noise(60)}, algorithm="td3")).status is Status.NOT_APPLICABLE
