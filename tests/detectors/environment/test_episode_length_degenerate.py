"""episode-length-degenerate: episodes that end at once, or never by themselves."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import expected, found, look, silent
from tests.make import learning, noise, run

ID = "episode-length-degenerate"
N = 100
FLAT = 5 + noise(N, 0.3)


def test_episodes_that_shrink_to_one_step_stop_the_run() -> None:
    length = np.where(np.arange(N) < 40, 80.0, 1.0) + np.abs(noise(N, 0.1))
    fall = np.where(np.arange(N) < 40, 80.0, 1.0) + noise(N, 2.0)
    assert found(ID, run({"episode.length": length, "reward.mean": fall}), Severity.CRITICAL).onset == 41


def test_episodes_that_always_end_at_once_are_a_warning() -> None:
    assert found(ID, run({"episode.length": [1.0] * N, "reward.mean": FLAT})).severity is Severity.WARNING


def test_a_task_of_one_step_is_expected_where_the_score_rises() -> None:
    expected(ID, run({"episode.length": [1.0] * N, "reward.mean": learning(N)}))


def test_a_task_of_fixed_length_is_expected_where_the_score_rises() -> None:
    assert "1000" in expected(ID, run({"episode.length": [1000.0] * N, "reward.mean": learning(N, -300, 9000)}))


def test_always_at_the_cap_without_progress_is_a_notice() -> None:
    found(ID, run({"episode.length": [200.0] * N, "reward.mean": FLAT}), Severity.NOTICE)


def test_always_at_the_cap_and_never_rewarded_is_a_warning() -> None:
    found(ID, run({"episode.length": [200.0] * N, "reward.mean": [0.0] * N}), Severity.WARNING)


def test_episodes_of_varying_length_are_healthy() -> None:
    assert silent(ID, run({"episode.length": 100 + noise(N, 20), "reward.mean": FLAT}))


def test_reaching_the_goal_faster_and_faster_is_healthy() -> None:
    assert silent(ID, run({"episode.length": 100 * np.exp(-np.arange(N) / 30) + 10, "reward.mean": learning(N)}))


def test_text_has_no_episodes() -> None:
    outcome = look(ID, run({"length.mean": [100.0] * N, "reward.mean": FLAT}, algorithm="grpo"))
    assert outcome.status is Status.NOT_APPLICABLE


def test_a_task_of_one_step_whose_score_hardly_moves_is_no_expectation() -> None:
    crawls = {"episode.length": [1.0] * N, "reward.mean": learning(N, -49.33, -49.30)}
    assert found(ID, run(crawls)).severity is Severity.WARNING
