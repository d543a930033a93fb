"""A fall of a score that is seen beside another score of the same policy."""

import numpy as np
import pytest

from firstbreak.engine.stats.agreement import (
    ALONE,
    TOGETHER,
    denies,
    fall,
    going_on,
    informed,
    parting,
    together,
    won_late,
)
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Series
from tests.make import noise, series

N = 200
X = np.linspace(0, 1, N)
PEAK = np.minimum(X / 0.4, 1) - 0.4 * np.maximum(X - 0.4, 0) / 0.6


def scores(
    evaluated: np.ndarray, trained: np.ndarray, seed: int, sd: float = 0.12, every: int = 19
) -> tuple[Series, Series]:
    """Eleven evaluations, and a training reward at every step."""
    at = np.arange(0, N, every)
    evaluation = (evaluated + noise(N, sd, seed=seed))[at]
    return series("eval.reward", evaluation, at), series("reward.mean", trained + noise(N, 0.15, seed=1000 + seed))


def test_what_both_scores_suggest_is_seen() -> None:
    alone = together = 0
    for seed in range(40):
        evaluation, training = scores(PEAK, PEAK, seed)
        alone += trajectory(evaluation).lost
        found = fall(evaluation, training)
        together += found is not None and found.beside > 0
    assert alone <= 20
    assert together >= 36


@pytest.mark.parametrize("course", [np.zeros(N), X, 1 - np.exp(-5 * X), np.minimum(X / 0.4, 1)])
def test_chance_and_every_healthy_course_are_no_fall(course: np.ndarray) -> None:
    assert [seed for seed in range(40) if fall(*scores(course, course, seed))] == []


def test_an_evaluation_that_falls_while_training_rises_falls_alone() -> None:
    found = fall(*scores(PEAK, X, 3, sd=0.05, every=9))
    assert found is not None
    assert found.beside == 0
    assert found.drop == pytest.approx(0.4, abs=0.1)


def test_an_evaluation_that_rises_beside_a_falling_reward_is_no_fall() -> None:
    assert fall(*scores(X, PEAK, 3)) is None


def test_the_shape_takes_a_sure_fall_over() -> None:
    evaluation, training = scores(PEAK, PEAK, 3, sd=0.02)
    shape = informed(trajectory(evaluation), fall(evaluation, training))
    assert shape.kind == "peaked"
    assert shape.beside == pytest.approx(0.4, abs=0.15)
    assert informed(shape, None) is shape


@pytest.mark.parametrize("n", [1, 5, 7])
def test_a_few_evaluations_say_nothing(n: int) -> None:
    evaluation, training = scores(PEAK, PEAK, 0)
    assert fall(evaluation.between(-1, float(evaluation.steps[n - 1])), training) is None


def test_points_at_one_step_show_no_fall() -> None:
    at_once = series("eval.reward", noise(12), np.full(12, 7.0))
    assert fall(at_once, at_once) is None


def test_ten_evaluations_that_fall_alone_need_less_than_two_scores_that_fall() -> None:
    found = fall(*scores(PEAK, np.minimum(X / 0.4, 1), 3, sd=0.02))
    assert found is not None
    assert (found.beside, found.limits) == (0, ALONE)
    together = fall(*scores(PEAK, PEAK, 3, sd=0.02))
    assert together is not None
    assert together.limits == TOGETHER


def test_an_evaluation_that_stops_following_training() -> None:
    found = parting(*scores(np.minimum(X, 0.4), X, 3, sd=0.05, every=9))
    assert found is not None
    assert found.step == pytest.approx(0.4 * N, abs=0.1 * N)
    assert found.most < 0.3


@pytest.mark.parametrize("course", [X, 0.8 * X, 1 - np.exp(-5 * X), np.minimum(X / 0.4, 1), np.minimum(3 * X, 1)])
def test_an_evaluation_that_follows_or_comes_first_has_not_parted(course: np.ndarray) -> None:
    assert [seed for seed in range(40) if parting(*scores(course, X, seed))] == []


def test_one_of_the_parts_whose_sum_the_reward_is_follows_it() -> None:
    reward = np.minimum(X / 0.8, 1) + noise(len(X), 0.03)
    assert parting(series("reward.component.correct.mean", 0.7 * reward), series("reward.mean", reward)) is None


def test_an_evaluation_denies_a_fall_of_the_reward_only_if_it_rose_and_would_have_shown_it() -> None:
    x = np.linspace(0, 1, 200)
    reward = trajectory(series("reward.mean", np.minimum(x / 0.5, 1) - 0.6 * np.maximum(x - 0.5, 0) + noise(200, 0.02)))
    rose = np.minimum(np.linspace(0, 1, 12) / 0.5, 1)
    at = np.linspace(1, 200, 12)
    assert reward.lost
    assert denies(series("eval.reward", rose + noise(12, 0.02), at), reward)
    assert not denies(series("eval.reward", rose + noise(12, 0.4), at), reward)
    assert not denies(series("eval.reward", noise(12, 0.02), at), reward)
    assert not denies(series("eval.reward", rose - 0.9 * np.maximum(np.linspace(-0.5, 0.5, 12), 0), at), reward)
    assert not denies(series("eval.reward", rose[::3], at[::3]), reward)


SEVEN, REWARDED = np.linspace(1, 120, 7), np.arange(1.0, 121)


@pytest.mark.parametrize(
    ("course", "kind"),
    [
        (lambda x: 0.3 + 0.3 * (1 - np.exp(-2 * x)) / (1 - np.exp(-2)), "rising"),
        (lambda x: np.interp(x, (0, 0.3, 1), (0.3, 0.6, 0.6)), "plateau"),
    ],
)
def test_seven_evaluations_and_the_reward_tell_together_whether_a_score_still_rises(course, kind: str) -> None:  # type: ignore[no-untyped-def]
    said = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        evaluation = series("eval.accuracy", rng.binomial(400, course(SEVEN / 120)) / 400, SEVEN)
        reward = series("reward.mean", rng.binomial(256, course(REWARDED / 120)) / 256, REWARDED)
        error = np.full(7, 0.0245)
        own = won_late(evaluation, error)
        said.append(going_on(trajectory(evaluation, sd=error), own, won_late(reward)).kind)
    assert said.count(kind) >= 19


def test_scores_that_contradict_are_not_averaged() -> None:
    assert together((0.0, 0.1), (0.1, 0.1)) == pytest.approx((0.05, 0.1 / 2**0.5))
    assert together((0.0, 0.1), (0.6, 0.1)) == (0.0, 0.1)
    assert together((0.2, 0.1), (0.0, np.inf)) == (0.2, 0.1)
