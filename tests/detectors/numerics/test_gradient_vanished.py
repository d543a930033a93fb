"""gradient-vanished: nothing left to learn from."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Severity
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "gradient-vanished"
N = 100
NORM = "grad.norm"
CALM = np.exp(noise(N, 0.3))
FLAT = 0.2 + noise(N, 0.03)


def test_a_gradient_of_exactly_0_is_found_where_it_began() -> None:
    finding = found(ID, run({NORM: np.where(np.arange(N) < 50, CALM, 0.0), "reward.mean": FLAT}), Severity.WARNING)
    assert finding.confidence is Confidence.HIGH
    assert finding.onset == 51


def test_zero_variance_groups_are_the_reason_and_another_finding() -> None:
    curves = {NORM: [0.0] * N, "reward.mean": FLAT, "reward.zero_std_frac": [1.0] * N}
    assert look(ID, run(curves, algorithm="grpo")).expected


def test_a_gradient_that_fades_is_found() -> None:
    for scale in (1e-6, 1.0, 1e6):
        assert found(ID, run({NORM: scale * CALM * np.geomspace(1, 1e-6, N), "reward.mean": FLAT}))


def test_a_solved_task_has_no_gradient() -> None:
    accuracy = np.minimum(1.0, np.linspace(0.2, 1.8, N))
    assert look(ID, run({NORM: np.where(np.arange(N) < 60, CALM, 0.0), "eval.accuracy": accuracy})).expected


@pytest.mark.parametrize("norm", [CALM, CALM * np.geomspace(1, 0.01, N), np.where(np.arange(N) % 4 == 0, 0.0, CALM)])
def test_healthy_norms(norm: np.ndarray) -> None:
    assert silent(ID, run({NORM: norm, "reward.mean": learning(N)}))


def test_updates_without_any_group_that_tells_are_no_vanished_gradient() -> None:
    empty = np.arange(N) % 5 < 3
    curves = {NORM: np.where(empty, 0.0, CALM), "reward.mean": FLAT, "reward.zero_std_frac": np.where(empty, 1.0, 0.5)}
    assert silent(ID, run(curves, algorithm="grpo"))
    assert found(ID, run({**curves, "reward.zero_std_frac": np.full(N, 0.5)}, algorithm="grpo"))


def test_a_method_without_advantages_is_advised_to_check_its_parameters() -> None:
    curves = {NORM: np.where(np.arange(N) < 50, CALM, 0.0), "reward.mean": FLAT}
    assert "advantages" in found(ID, run(curves, algorithm="ppo")).message
    assert "parameters" in found(ID, run(curves, algorithm="dqn")).message


def test_a_norm_that_falls_at_once_to_a_thirtieth_is_reported_where_the_score_stops_with_it() -> None:
    late = np.arange(120) >= 50
    norms = np.where(late, 0.03, 1.0) * (1 + noise(120, 0.15, 1))
    stops = np.minimum(np.arange(120), 50) / 100 + noise(120, 0.03, 2)
    assert found(ID, run({"grad.norm": norms, "reward.mean": stops})).onset == 51
    assert silent(ID, run({"grad.norm": norms, "reward.mean": np.arange(120) / 100 + noise(120, 0.03, 2)}))


def test_a_norm_that_shrinks_little_by_little_as_the_run_converges_is_healthy() -> None:
    norms = np.exp(-3.4 * np.arange(120) / 120) * (1 + noise(120, 0.15, 1))
    assert silent(ID, run({"grad.norm": norms, "reward.mean": learning(120)}))
