"""score-below-start: the policy only gets worse."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "score-below-start"
N = 120


def test_a_reward_with_its_sign_reversed_is_found() -> None:
    finding = found(ID, run({"reward.mean": -learning(N, 20, 180)}), Severity.CRITICAL)
    assert finding.onset is not None
    assert finding.onset < N / 3


def test_the_size_of_the_score_does_not_matter() -> None:
    for scale in (1e-6, 1.0, 1e6):
        assert found(ID, run({"reward.mean": -learning(N) * scale})).severity is Severity.CRITICAL


@pytest.mark.parametrize(
    "score",
    [
        learning(N),
        5 + noise(N),
        np.where(np.arange(N) < 60, learning(N), 0.2) + noise(N, 0.02),  # rose, then fell: another finding
        -200 + learning(N, 0, 300),
        np.concatenate([np.linspace(0, -0.3, 20), np.linspace(-0.3, 1, N - 20)]) + noise(N, 0.02),  # a dip at the start
    ],
    ids=["learns", "flat", "collapsed", "negative", "dips"],
)
def test_other_shapes_are_not_it(score: np.ndarray) -> None:
    assert silent(ID, run({"reward.mean": score}))


@pytest.mark.parametrize("shift", [-300.0, 0.0, 300.0])
def test_a_run_that_falls_after_its_random_start_and_rises_again_is_not_stopped(shift: float) -> None:
    fall = np.linspace(100, 10, N // 3)
    back = np.concatenate([fall, np.linspace(10, 55, N - len(fall))]) + noise(N, 3)
    stays = np.concatenate([fall, np.full(N - len(fall), 10.0)]) + noise(N, 3)
    severities = [found(ID, run({"reward.mean": shift + score})).severity for score in (back, stays)]
    assert severities == [Severity.WARNING, Severity.CRITICAL]


def test_a_first_evaluation_that_comes_late_is_not_the_start() -> None:
    trained = np.where(np.arange(N) < 60, learning(N, 20, 290), 10) + noise(N, 3)
    evaluated = np.where(np.arange(20) < 6, 290.0, 10.0) + noise(20, 3)
    assert found(ID, run({"eval.reward": evaluated}))
    assert silent(ID, run({"eval.reward": evaluated, "reward.mean": trained}))


def test_the_last_digits_of_a_score_that_stands_still_are_no_fall() -> None:
    assert silent(ID, run({"eval.reward": -5.6166 - 1e-5 * np.arange(N)}))


def test_a_score_that_held_its_first_level_for_most_of_the_run_and_was_lost_then_is_another_finding() -> None:
    assert silent(ID, run({"reward.accuracy": np.where(np.arange(N) < 100, 0.92, 0.05) + noise(N, 0.02)}))
    assert found(ID, run({"reward.accuracy": np.where(np.arange(N) < 20, 0.92, 0.05) + noise(N, 0.02)}))


@pytest.mark.parametrize(
    ("algorithm", "check", "never"),
    [
        ("ppo", "reward and advantage, the order of the actions", "chosen"),
        ("dqn", "the sign of the reward, the order of the actions", "advantage"),
        ("grpo", "reward and advantage, the reference answers", "actions"),
        ("dpo", "chosen and rejected", "advantage"),
    ],
)
def test_what_to_check_first_depends_on_the_method(algorithm: str, check: str, never: str) -> None:
    message = found(ID, run({"reward.mean": -learning(N, 20, 180)}, algorithm=algorithm)).message
    assert check in message
    assert never not in message
