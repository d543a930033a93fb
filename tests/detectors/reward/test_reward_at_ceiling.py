"""reward-at-ceiling: a reward that pays everything teaches nothing."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import expected, found, silent
from tests.make import learning, noise, run

ID = "reward-at-ceiling"
N = 60
FULL = np.clip(0.98 + noise(N, 0.01), 0, 1)


def test_a_full_reward_beside_a_low_evaluation_is_too_loose() -> None:
    finding = found(ID, run({"reward.mean": FULL, "eval.accuracy": 0.4 + noise(N, 0.02)}, algorithm="grpo"))
    assert finding.severity is Severity.WARNING
    assert "harder prompts" in finding.message


def test_without_an_evaluation_only_groups_without_variance_make_it_a_warning() -> None:
    assert found(ID, run({"reward.mean": FULL}, algorithm="grpo")).severity is Severity.NOTICE
    silenced = {"reward.mean": FULL, "reward.zero_std_frac": np.full(N, 0.9)}
    assert found(ID, run(silenced, algorithm="grpo")).severity is Severity.WARNING


def test_a_solved_task_is_expected() -> None:
    assert "solved" in expected(ID, run({"reward.mean": FULL, "eval.accuracy": FULL}, algorithm="grpo"))


def test_a_reward_that_is_learned_to_the_top_is_healthy() -> None:
    assert silent(ID, run({"reward.mean": np.clip(learning(N, 0.4, 0.97, 0.01), 0, 1)}, algorithm="grpo"))
