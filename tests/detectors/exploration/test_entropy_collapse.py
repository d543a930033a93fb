"""entropy-collapse: certain before the task is solved."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import expected, found, look, silent
from tests.make import learning, noise, run

ID = "entropy-collapse"
FALLEN = np.concatenate([np.full(30, 1.4), np.linspace(1.4, 0.001, 20), np.full(100, 0.001)]) + np.abs(noise(150, 1e-4))


def test_a_collapse_with_a_flat_score_is_critical() -> None:
    assert 30 <= found(ID, run({"policy.entropy": FALLEN, "reward.mean": noise(150)}), Severity.CRITICAL).onset <= 52


def test_dead_from_the_beginning_is_critical() -> None:
    assert found(ID, run({"policy.entropy": [0.0] * 150, "reward.mean": [-21.0] * 150})).severity is Severity.CRITICAL


def test_a_solved_task_makes_it_expected() -> None:
    assert look(ID, run({"policy.entropy": FALLEN, "reward.accuracy": np.minimum(1, 1.5 * learning(150))})).expected


def test_a_fall_while_the_score_rises_is_learning() -> None:
    assert silent(
        ID,
        run({"policy.entropy": np.linspace(1.4, 0.1, 150), "reward.mean": np.linspace(0, 1, 150) + noise(150, 0.05)}),
    )


def test_differential_entropy_may_be_negative() -> None:
    assert silent(ID, run({"policy.entropy": np.linspace(3, -2, 150), "reward.mean": noise(150)}))


def test_zeros_beside_groups_that_differ_were_not_computed() -> None:
    curves = {"policy.entropy": [0.0] * 150, "reward.mean": noise(150), "reward.group_std": [0.5] * 150}
    assert look(ID, run(curves)).status is Status.NOT_MEASURED


def test_a_method_without_a_bonus_in_its_loss_is_advised_to_change_its_coefficient() -> None:
    curves = {"policy.entropy": FALLEN, "reward.mean": noise(150)}
    assert "entropy bonus" in found(ID, run(curves, algorithm="ppo")).message
    assert "entropy coefficient" in found(ID, run(curves, algorithm="sac")).message


@pytest.mark.parametrize("at", [4, 10, 100, 140])
def test_a_collapse_is_found_at_whatever_step(at: int) -> None:
    entropy = np.where(np.arange(150) < at, 1.4, 0.02) * np.exp(noise(150, 0.1))
    finding = found(ID, run({"policy.entropy": entropy, "reward.mean": noise(150)}, algorithm="ppo"), Severity.CRITICAL)
    assert finding.onset == pytest.approx(at + 1, abs=5)


def test_low_entropy_from_the_start_matters_where_the_policy_fails() -> None:
    low = 0.02 * np.exp(noise(150, 0.1))
    failing, succeeding = ({"policy.entropy": low, "reward.accuracy": s + noise(150, 0.02)} for s in (0.1, 0.8))
    assert found(ID, run(failing, algorithm="grpo")).severity is Severity.CRITICAL
    assert silent(ID, run(succeeding, algorithm="grpo"))


def test_a_collapse_where_the_score_stopped_halfway_is_a_warning() -> None:
    stops = np.minimum(np.linspace(0, 1.5, 150), 0.5) + noise(150, 0.03)
    finding = found(ID, run({"policy.entropy": 1.4 * np.exp(-np.linspace(0, 4, 150)), "reward.mean": stops}))
    assert finding.severity is Severity.WARNING
    assert "stopped rising" in finding.message


@pytest.mark.parametrize(("left", "spoken"), [(0.03, True), (0.12, False)])
def test_a_policy_that_succeeds_half_the_time_needs_some_entropy(left: float, spoken: bool) -> None:
    entropy = np.maximum(np.exp(-np.linspace(0, 8, 150)), left) * np.exp(noise(150, 0.1))
    score = 0.6 - 0.3 * np.exp(-np.linspace(0, 12, 150)) + noise(150, 0.02)
    outcome = look(ID, run({"policy.entropy": entropy, "reward.accuracy": score}, algorithm="grpo"))
    assert (outcome.finding is not None) is spoken


@pytest.mark.parametrize(("rate", "confidence"), [(3, Confidence.LOW), (60, Confidence.MEDIUM)])
def test_a_policy_that_learns_with_little_entropy_left_is_hardly_accused(rate: float, confidence: Confidence) -> None:
    entropy = np.maximum(1.4 * np.exp(-np.linspace(0, 60, 150)), 0.004) * np.exp(noise(150, 0.1))
    score = 30 * (1 - np.exp(-rate * np.linspace(0, 1, 150))) + noise(150, 0.3)
    assert found(ID, run({"policy.entropy": entropy, "reward.mean": score}, algorithm="ppo")).confidence is confidence


def test_a_score_above_what_counts_as_solved_in_a_known_environment_needs_no_entropy() -> None:
    """Acrobot counts as solved from -100 on; -83 is a plateau below the best score, and no collapse."""
    entropy = np.geomspace(1.07, 0.12, 150)
    score = np.r_[np.linspace(-500, -83, 40), np.full(110, -83.0)] + noise(150, 4)
    curves = {"policy.entropy": entropy, "reward.mean": score}
    note = expected(ID, run(curves, algorithm="ppo", config={"env_id": "Acrobot-v1"}))
    assert "above -100, which counts as solved" in note
    found(ID, run(curves, algorithm="ppo"))
