"""zero-variance-groups: groups that teach nothing."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "zero-variance-groups"


def test_groups_that_lose_their_variance_are_found_where_they_do() -> None:
    share = np.concatenate([np.full(50, 0.2), np.full(100, 0.95)]) + noise(150, 0.02)
    finding = found(ID, run({"reward.zero_std_frac": share, "reward.mean": noise(150, 0.1, 1)}), Severity.CRITICAL)
    assert 45 <= finding.onset <= 55


def test_a_solved_task_makes_it_expected() -> None:
    made = run({"reward.zero_std_frac": learning(150), "reward.accuracy": np.minimum(1, 1.5 * learning(150))})
    assert look(ID, made).expected


def test_a_third_of_zero_variance_groups_is_healthy() -> None:
    assert silent(ID, run({"reward.zero_std_frac": 0.33 + noise(100, 0.1), "reward.mean": learning(100)}))


def test_while_the_score_rises_it_is_a_waste_and_not_a_break() -> None:
    assert (
        found(ID, run({"reward.zero_std_frac": [0.6] * 100, "reward.mean": learning(100)})).severity is Severity.NOTICE
    )


def test_a_spread_of_exactly_zero_counts() -> None:
    assert found(ID, run({"reward.group_std": [0.0] * 40, "reward.mean": noise(40)})).severity is Severity.CRITICAL


def test_one_reported_value_is_said_with_low_confidence() -> None:
    assert found(ID, run({"reward.zero_std_frac": [1.0], "reward.mean": [3.0]})).confidence == "low"


def test_without_groups_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": noise(40)})).status is Status.NOT_MEASURED


def test_groups_that_are_all_right_stop_nothing() -> None:
    n = 60
    extremes = {"reward.min": np.zeros(n), "reward.max": np.ones(n)}
    zero_variance_groups = {"reward.zero_std_frac": np.full(n, 0.9)}
    right = found(ID, run({**zero_variance_groups, **extremes, "reward.mean": np.full(n, 0.95)}, algorithm="grpo"))
    wrong = found(ID, run({**zero_variance_groups, **extremes, "reward.mean": np.full(n, 0.05)}, algorithm="grpo"))
    assert "all answers are right" in right.message
    assert "all answers are wrong" in wrong.message
    assert right.severity is Severity.NOTICE
    assert wrong.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("reward", "said", "severity"),
    [
        (0.75, "answers are right", Severity.NOTICE),
        (0.25, "answers are wrong", Severity.WARNING),
        (0.5, "whether", Severity.WARNING),
    ],
)
def test_the_mean_reward_bounds_how_many_equal_groups_are_all_wrong(
    reward: float, said: str, severity: Severity
) -> None:
    share = np.r_[np.linspace(0.1, 0.5, 20), np.full(50, 0.62)]
    made = run({"reward.zero_std_frac": share, "reward.mean": reward + noise(70, 0.02)}, algorithm="grpo")
    finding = found(ID, made)
    assert said in finding.message
    assert finding.severity is severity


def test_advantages_of_exactly_0_show_zero_variance_groups_where_no_spread_is_logged() -> None:
    spread = np.where(np.arange(40) < 10, 1.5, 0.0)
    assert found(ID, run({"advantage.max": spread, "advantage.min": -spread}, algorithm="grpo")).onset == 11
    lively = run({"advantage.max": [1.5] * 40, "advantage.min": [-1.5] * 40}, algorithm="grpo")
    assert look(ID, lively).status is Status.NOT_MEASURED


def test_advantages_that_lose_their_spread_although_few_groups_are_equal() -> None:
    spread = np.where(np.arange(100) < 60, 1.0, 0.03) * np.exp(noise(100, 0.05))
    curves = {"reward.zero_std_frac": np.full(100, 0.1), "reward.mean": 0.5 + noise(100, 0.05)}
    assert "standard deviation" in found(ID, run({**curves, "advantage.std": spread})).message
    assert silent(ID, run({**curves, "advantage.std": np.exp(noise(100, 0.05))}))


def test_prompts_that_differ_in_groups_that_never_do_are_answered_by_copies() -> None:
    def of(reward: np.ndarray, share: float = 1.0) -> Run:
        return run({"reward.zero_std_frac": np.full(60, share), "reward.mean": reward})

    assert "apart" in found(ID, of(0.58 + noise(60, 0.03)), Severity.CRITICAL).message
    assert "apart" in found(ID, of(np.linspace(0.3, 0.7, 60)), Severity.CRITICAL).message  # whatever the score does
    assert "apart" not in found(ID, of(0.58 + noise(60, 0.03), 0.95)).message  # some groups differ
    assert "harder prompts" in found(ID, of(0.97 + noise(60, 0.005))).message


def test_a_batch_whose_rewards_became_alike_is_not_called_right() -> None:
    n, alike = 120, np.arange(120) >= 60
    made = run(
        {
            "reward.zero_std_frac": np.where(alike, 0.9, 0.05),
            "reward.mean": 0.63 + noise(n, 0.005),
            "reward.min": np.where(alike, 0.61, -0.2),
            "reward.max": np.where(alike, 0.65, 1.4),
        },
        algorithm="grpo",
    )
    finding = found(ID, made, Severity.CRITICAL)
    assert "all completions get about the same" in finding.message
    assert finding.onset == 61
