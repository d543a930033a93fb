"""A cause that would have harmed the score is not named where the score improved and was kept."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Action, BreakKind, Run
from firstbreak.reports.terminal import render
from tests.make import noise, run

N = 200
ENTROPY_GONE = np.concatenate([np.full(N // 4, 1.4), np.linspace(1.4, 0.02, N // 4), np.full(N // 2, 0.02)])
RISES = np.linspace(-400, -100, N)
RISES_AND_STAYS = np.concatenate([np.linspace(-1000, -400, N // 2), np.full(N // 2, -400.0)])


def of(score: np.ndarray) -> Run:
    """PPO for control, whose entropy is gone at half of the run."""
    curves = {"reward.mean": score + noise(N, 10), "policy.entropy": ENTROPY_GONE + np.abs(noise(N, 0.005, 1))}
    return run(curves, algorithm="ppo", trainer="sb3")


def test_entropy_that_is_gone_is_a_warning_where_the_score_is_kept() -> None:
    diagnosis = diagnose(of(RISES_AND_STAYS))
    assert diagnosis.first_break is not None
    assert diagnosis.first_break.kind is BreakKind.FIRST_SIGN
    assert diagnosis.verdict.action is Action.WATCH
    assert any(o.detector == "entropy-collapse" and o.finding is not None for o in diagnosis.outcomes)


def test_it_is_named_where_the_score_stands_still() -> None:
    assert diagnose(of(np.full(N, -400.0))).first_break is not None


STOPS = np.concatenate([np.linspace(-1000, -400, N // 2), np.full(N // 2, -410.0)])
AT_ONCE = np.where(np.arange(N) < N // 2, 1.4, 0.02)


@pytest.mark.parametrize(("score", "named"), [(STOPS, True), (np.linspace(-1000, -100, N), False)])
def test_entropy_that_goes_at_once_is_named_where_the_gains_end_with_it(score: np.ndarray, named: bool) -> None:
    curves = {"reward.mean": score + noise(N, 10), "policy.entropy": AT_ONCE + np.abs(noise(N, 0.005, 1))}
    assert (diagnose(run(curves, algorithm="ppo", trainer="sb3")).first_break is not None) is named


@pytest.mark.parametrize("since", [0.85, 0.4])
def test_signs_that_have_done_no_harm_are_watched_and_are_no_break(since: float) -> None:
    late = np.arange(N) >= since * N
    kl, clip = np.where(late, 0.3, 0.006), np.where(late, 0.5, 0.08)
    curves = {"reward.mean": np.minimum(np.linspace(0, 4000, N), 1000) + noise(N, 10)}
    curves |= {"kl.old": kl * np.exp(noise(N, 0.2, 1)), "policy.clip_fraction": clip + noise(N, 0.01, 2)}
    diagnosis = diagnose(run(curves, algorithm="ppo", trainer="sb3"))
    assert diagnosis.first_break is not None
    assert (diagnosis.first_break.kind, diagnosis.verdict.action) == (BreakKind.FIRST_SIGN, Action.WATCH)
    assert "first sign: policy update" in render(diagnosis)
    assert diagnosis.verdict.risk == "some: what was found has done no harm to the score yet"


@pytest.mark.parametrize(
    ("evaluation", "kept"),
    [
        ([-480, -430, -390, -360, -355], True),
        ([-480, -300, -470, -310, -480], False),
        ([-300, -340, -390, -430, -480], False),
    ],
)
def test_a_few_evaluations_improved_where_the_last_is_clearly_above_the_first(
    evaluation: list[float], kept: bool
) -> None:
    assert Inputs(run({"eval.reward": evaluation, "reward.mean": RISES + noise(N, 10)})).kept is kept


def test_a_score_of_which_much_was_lost_is_not_kept() -> None:
    peak = np.concatenate([np.linspace(0, 300, N // 2), np.linspace(300, 50, N // 2)])
    assert Inputs(run({"reward.mean": peak + noise(N, 10)})).kept is False


@pytest.mark.parametrize(("level", "kept"), [(30.0, True), (5.0, False), (300.0, False)])
def test_an_evaluation_that_was_at_its_top_from_the_start_is_kept(level: float, kept: bool) -> None:
    curves = {
        "reward.mean": np.minimum(np.linspace(0, 60, N), 30) + noise(N, 0.3),
        "eval.reward": level + noise(20, 0.3, 1),
    }
    assert Inputs(run(curves)).kept is kept
