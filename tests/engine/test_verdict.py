"""What to do with a run of which nothing is known to be broken."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.verdict import in_short
from firstbreak.model import Action, Finding, Link, Run, Severity
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
    assert "the rate of improvement of the training reward grows (reward.mean changed by " in said.verdict.upside


def test_few_evaluations_and_a_training_reward_that_all_go_nowhere_are_not_sent_on() -> None:
    evaluation = series("eval.reward", 0.5 + noise(10, 0.02), np.arange(0, 200, 20))
    training = series("reward.mean", 0.5 + noise(200, 0.02, 1), np.arange(200))
    said = diagnose(Run(path="a-run", series={"eval.reward": evaluation, "reward.mean": training}))
    assert said.verdict.action is Action.WATCH


def test_the_course_of_the_training_reward_is_named_beside_that_of_the_evaluation() -> None:
    flat = series("eval.reward", 0.5 + noise(20, 0.02), np.arange(0, 200, 10))
    training = series("reward.mean", learning(200), np.arange(200))
    said = diagnose(Run(path="a-run", series={"eval.reward": flat, "reward.mean": training}))
    assert "The evaluation has not changed by more than its noise, and the training reward" in said.verdict.summary


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


def test_what_is_proved_stops_a_run_that_curves_leave_alone() -> None:
    curves = {"reward.mean": learning(60), "policy.entropy": 1 + noise(60, 0.02)}
    noted = diagnose(run({**curves, "proof.untrained": [0.998] * 60}, algorithm="grpo"))
    assert (noted.first_break is not None, noted.verdict.action) == (True, Action.STOP)
    assert diagnose(run({**curves, "proof.untrained": [0.0] * 60}, algorithm="grpo")).verdict.action is Action.CONTINUE


def test_training_on_pairs_is_told_of_no_sampler_and_no_exploration() -> None:
    pairs = {
        "pref.loss": 0.69 + noise(60, 0.01),
        "pref.reward.accuracy": 0.5 + noise(60, 0.05),
        "policy.entropy": [2.0] * 60,
    }
    told = diagnose(run(pairs, algorithm="dpo"))
    assert not {Link.EXPLORATION, Link.FRESHNESS} & {c.link for c in told.causes}
    assert "entropy-stays-high" not in {o.detector for o in told.outcomes if o.finding is not None}


def test_the_held_out_accuracy_of_a_reward_model_is_its_score() -> None:
    curves = {"eval.rm.accuracy": np.linspace(0.5, 0.9, 12), "rm.accuracy": 0.7 + noise(60, 0.05)}
    score = Inputs(run(curves, algorithm="reward")).score
    assert score is not None
    assert score.name == "eval.rm.accuracy"
    few = Inputs(run(curves | {"eval.rm.accuracy": [0.5, 0.9]}, algorithm="reward")).score
    assert few is not None
    assert few.name == "rm.accuracy"


def test_a_fall_is_no_improvement() -> None:
    said = diagnose(run({"reward.mean": np.exp(-np.arange(200) / 40) + noise(200, 0.01)}, algorithm="grpo"))
    assert "the fall is slowing down (reward.mean changed by -" in said.verdict.upside


def test_a_run_that_was_best_at_its_first_value_starts_again() -> None:
    said = diagnose(
        run({"eval.accuracy": 0.5 * np.exp(-np.arange(12) / 4), "grad.norm": np.exp(np.arange(12))}, algorithm="grpo")
    )
    assert (said.verdict.action, "start again" in said.verdict.do_first) == (Action.STOP, True)


def test_a_score_at_rest_without_an_evaluation_is_evaluated_before_it_is_trained_longer() -> None:
    for algorithm, where in (("grpo", "on held-out prompts"), ("dqn", "in a separate environment")):
        verdict = diagnose(run({"reward.mean": learning(200)}, algorithm=algorithm)).verdict
        assert verdict.action is Action.CONTINUE
        assert where in verdict.do_first


@pytest.mark.parametrize(
    ("planned", "said"),
    [(199, "reached its planned step 199"), (200, "reached its planned step 200"), (300, "again at step 300"),
     (5000, "again at step 399"), (20, "again at step 399"), (None, "again at step 399")],
)  # fmt: skip
def test_a_run_that_has_its_planned_steps_is_not_sent_on(planned: float | None, said: str) -> None:
    """A number of steps far below those of the log counts something else: updates, where the log counts environment steps."""
    rising = run({"eval.reward": np.arange(200) / 200 + noise(200, 0.01)}, config={"total_steps": planned})
    verdict = diagnose(rising).verdict
    assert verdict.action is Action.CONTINUE
    assert said in verdict.do_first


def test_a_run_that_begins_to_lose_keeps_its_best_checkpoint() -> None:
    falls = np.concatenate([learning(140), np.linspace(1.0, 0.75, 60) + noise(60, 0.01)])
    dx = diagnose(run({"eval.accuracy": falls}, algorithm="grpo"))
    assert dx.verdict.action is Action.WATCH
    assert dx.best_checkpoint is not None
    assert dx.verdict.do_first.startswith("Keep the checkpoint nearest to step ")


def test_a_colon_in_a_quoted_line_of_a_log_ends_no_sentence() -> None:
    died = Finding(
        message='log.txt ends with "RuntimeError: out of memory": nothing was saved; read it', severity=Severity.WARNING
    )
    assert in_short(died) == 'log.txt ends with "RuntimeError: out of memory"'
