"""Numbers of a report that anybody finds in the log: which value, of how many, since when."""

import numpy as np
import pytest

from firstbreak.engine import facts
from firstbreak.engine.common_settings import usual_range
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Diagnosis, Finding, Outcome, Run
from tests.make import noise, run, series

STEPS = np.arange(1, 81)
CUT = np.tile([0.0, 0.5, 1.0, 0.5], 20)


def finding(dx: Diagnosis, name: str) -> Finding:
    """What a check found."""
    found: Outcome = next(o for o in dx.outcomes if o.detector == name)
    assert found.finding is not None
    return found.finding


def peaked(n: int) -> np.ndarray:
    """Rises to 1 at two thirds, and falls to 0.2."""
    x = np.linspace(0, 1, n)
    return np.interp(x, [0, 0.66, 0.8, 1], [0, 1, 0.2, 0.2]) + noise(n, 0.02)


def test_the_best_evaluation_is_one_of_the_log_and_the_last_level_a_mean_that_says_so() -> None:
    curve = series("eval.reward", peaked(40))
    shape = trajectory(curve)
    best = facts.best(curve, shape)
    assert best.value in curve.values
    assert curve.values[curve.steps == shape.best_step] == best.value == curve.values.max()
    assert "mean of the last 4 values" in facts.but_for(curve, shape)
    assert facts.lost(curve, shape) == f"{100 * (best.value - shape.end) / (best.value - curve.values[0]):.0f} %"


def test_no_fall_of_the_score_is_dated_before_its_best() -> None:
    dx = diagnose(run({"eval.reward": peaked(40), "reward.mean": peaked(40)}, algorithm="ppo"))
    assert dx.first_break is not None
    assert dx.best_checkpoint is not None
    assert dx.first_break.interval is not None
    assert dx.first_break.step is not None
    assert dx.best_checkpoint.step <= dx.first_break.interval[0] <= dx.first_break.step


@pytest.mark.parametrize("slope", [0.0, -5.0])
def test_what_cut_completions_cost_is_said_where_the_reward_shows_it(slope: float) -> None:
    rewards = slope * CUT + noise(80, 0.5)
    said = finding(diagnose(run({"length.clipped_ratio": CUT, "reward.mean": rewards}, trainer="trl")), "truncation")
    shown = f"{rewards[CUT == 1].mean():.4g} where most are cut, {rewards[CUT == 0].mean():.4g} where fewest are"
    assert (shown in said.message) == (slope < 0)


def test_equal_groups_are_told_by_the_one_reward_that_they_have() -> None:
    rewards = np.where(STEPS % 4 == 0, 4.0, 2.0)
    dx = diagnose(run({"reward.zero_std_frac": np.ones(80), "reward.mean": rewards}, trainer="trl"))
    assert "in 60 of 80 such steps every reward is 2" in finding(dx, "zero-variance-groups").message


def test_a_score_that_is_not_finite_is_asked_for_before_more_steps() -> None:
    dx = diagnose(run({"eval.reward": [3.0, np.nan, np.nan, np.nan]}))
    assert "3 of 4 evaluations gave no number" in dx.verdict.summary
    assert "why evaluations give no number" in dx.verdict.do_first


def test_a_learning_rate_is_usual_where_it_is_for_either_kind_of_run() -> None:
    for trainer, usual in (("sb3", False), (None, True)):
        made: Run = run({"reward.mean": noise(80)}, trainer=trainer)
        found = usual_range("learning_rate", Inputs(made))
        assert found is not None
        assert (found.decades(1e-6) == 0) == usual
