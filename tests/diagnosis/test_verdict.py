"""What to do with a run of which nothing is known to be broken."""

from __future__ import annotations

import numpy as np
import pytest

from firstbreak.diagnosis.diagnose import diagnose
from firstbreak.diagnosis.inputs import Inputs
from firstbreak.diagnosis.verdict import judge
from firstbreak.model import Action, Link, RankedCause, Run, Weight, WeightKind
from tests.make import learning, noise, run, series

SWINGS = 10 * np.sign(np.sin(np.arange(200) / 8)) + noise(200, 1.0)


@pytest.mark.parametrize("score", [SWINGS, np.full(100, 10.1)])
def test_a_score_that_goes_nowhere_is_not_sent_on(score: np.ndarray) -> None:
    said = diagnose(run({"eval.reward": score}, algorithm="ppo"))
    assert (said.first_break, said.verdict.action) == (None, Action.WATCH)
    assert "random actions" in said.verdict.do_first


@pytest.mark.parametrize("score", [SWINGS + np.arange(200) / 5, learning(200), np.full(10, 10.1)])
def test_one_that_rises_or_is_short_goes_on(score: np.ndarray) -> None:
    said = diagnose(run({"eval.reward": score}, algorithm="ppo"))
    assert said.verdict.action is Action.CONTINUE


def test_the_training_reward_says_how_fast_the_score_improves_where_evaluations_are_few() -> None:
    at = np.arange(0, 200, 20)
    evaluation = series("eval.reward", 0.01 * at + noise(10, 0.1), at)
    training = series("reward.mean", (np.arange(200) / 100) ** 3 + noise(200, 0.1), np.arange(200))
    said = diagnose(Run(path="a-run", series={"eval.reward": evaluation, "reward.mean": training}))
    assert "the rate of improvement grows (reward.mean changed by " in said.verdict.upside


def test_few_evaluations_and_a_training_reward_that_all_go_nowhere_are_not_sent_on() -> None:
    evaluation = series("eval.reward", 0.5 + noise(10, 0.02), np.arange(0, 200, 20))
    training = series("reward.mean", 0.5 + noise(200, 0.02, 1), np.arange(200))
    said = diagnose(Run(path="a-run", series={"eval.reward": evaluation, "reward.mean": training}))
    assert said.verdict.action is Action.WATCH


def test_the_course_of_the_training_reward_is_named_beside_that_of_the_evaluation() -> None:
    flat = series("eval.reward", 0.5 + noise(20, 0.02), np.arange(0, 200, 10))
    training = series("reward.mean", learning(200), np.arange(200))
    said = diagnose(Run(path="a-run", series={"eval.reward": flat, "reward.mean": training}))
    assert "the evaluation has not changed by more than its noise, and the training reward" in said.verdict.summary


def test_a_score_that_was_lost_does_not_just_go_on() -> None:
    fell = np.r_[learning(100, sd=0.01), np.full(100, 0.78)] + noise(200, 0.01)
    assert diagnose(run({"eval.reward": fell})).verdict.action is Action.WATCH


def test_a_training_reward_that_fell_is_watched_unless_the_evaluation_denies_it() -> None:
    fell = series("reward.mean", np.r_[learning(100, sd=0.01), np.full(100, 0.78)] + noise(200, 0.01), np.arange(200))
    kept = np.minimum(np.linspace(0, 2, 10), 1) + noise(10, 0.01)
    for evaluation, action in (0.5 + noise(10, 0.3), Action.WATCH), (kept, Action.CONTINUE):
        scores = {"eval.reward": series("eval.reward", evaluation, np.arange(0, 200, 20)), "reward.mean": fell}
        assert diagnose(Run(path="a-run", series=scores)).verdict.action is action


def test_ten_flat_evaluations_beside_a_flat_training_reward_are_not_sent_on() -> None:
    few = series("eval.reward", 0.3 + noise(10, 0.02), np.arange(0, 60, 6))
    training = series("reward.mean", 0.3 + noise(60, 0.05, seed=1), np.arange(60))
    said = diagnose(Run(path="a-run", series={"eval.reward": few, "reward.mean": training}))
    assert said.verdict.action is Action.WATCH


def test_the_strongest_sign_of_a_doubted_cause_is_named() -> None:
    inputs = Inputs(run({"eval.reward": learning(200)}, algorithm="ppo"))
    found = Weight(finding="score-oscillates", weight=3.0, kind=WeightKind.FOUND, text="found")
    cause = RankedCause(id="a", title="A cause", link=Link.ADVANTAGE, probability=0.6, evidence=(found,))
    healthy = RankedCause(id="healthy", title="Nothing is wrong", link=None, probability=0.2)
    said = judge(inputs, [], [cause, healthy], None, None, sure=False).summary
    assert "The strongest sign: score-oscillates." in said
