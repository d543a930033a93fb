"""mismatch-growing: engines that drift apart."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "mismatch-growing"
N = 100
WOBBLE = np.exp(noise(N, 0.15))


def grpo(values: object, signal: str = "rollout_train.logp_absdiff.mean") -> Run:
    return run({signal: values}, algorithm="grpo")


def test_weights_that_stop_arriving_are_found_early() -> None:
    drift = np.where(np.arange(N) < 40, 0.015, 0.015 + 0.003 * (np.arange(N) - 40)) * WOBBLE
    finding = found(ID, grpo(drift), Severity.CRITICAL)
    assert finding.interval is not None
    assert finding.interval[0] <= 50
    assert finding.onset is not None
    assert finding.onset >= 30


def test_a_cache_that_survives_the_update_jumps() -> None:
    finding = found(ID, grpo(np.where(np.arange(N) < 50, 0.001, 0.006) * WOBBLE, "rollout_train.kl"), Severity.WARNING)
    assert finding.onset == pytest.approx(51, abs=3)


def test_constant_numerics_are_healthy() -> None:
    assert silent(ID, grpo(0.02 * WOBBLE))


def test_growth_from_nothing_to_almost_nothing_is_healthy() -> None:
    assert silent(ID, grpo(1e-6 * np.linspace(1, 50, N) * WOBBLE, "rollout_train.kl"))


def test_a_correlation_falls_where_a_distance_grows() -> None:
    assert found(ID, grpo(1 - np.geomspace(0.002, 0.1, N) * WOBBLE, "rollout_train.prob_pearson"))


def test_one_spike_is_no_growth() -> None:
    spike = 0.02 * WOBBLE
    spike[90] = 2.0
    assert silent(ID, grpo(spike))


def test_one_process_has_no_second_engine() -> None:
    assert look(ID, run({"reward.mean": noise(N)}, algorithm="sac")).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.3], np.linspace(0.01, 0.2, 10), [np.nan] * 30])
def test_a_few_points_say_nothing(values: object) -> None:
    assert look(ID, grpo(values)).status is Status.NOT_MEASURED


def test_engines_that_agree_exactly_are_healthy() -> None:
    assert silent(ID, grpo([0.0] * 30))
