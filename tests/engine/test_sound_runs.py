"""Sound runs of kinds that were accused once, each beside one that is not sound."""

from typing import Any

import numpy as np
import pytest

from firstbreak.dialects import dialects, hyperparameters
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, BreakKind, Harm, Link, Run, Severity
from firstbreak.values import replace
from tests.detectors.look import found, look
from tests.make import learning, noise, run, series

N = 200
X = np.arange(N)


def slowed(speed: np.ndarray) -> Run:
    curves = {"reward.mean": learning(N, 0.1, 0.9), "throughput.tok_s": speed * (1 + noise(N, 0.01))}
    return run(curves, trainer="trl", algorithm="grpo")


@pytest.mark.parametrize(("speed", "link"), [(400.0, None), (250.0, Link.SYSTEMS)])
def test_a_run_that_learns_and_is_slower_at_once_has_a_link_where_another_job_does_not_explain_it(
    speed: float, link: Link | None
) -> None:
    dx = diagnose(slowed(np.where(X < 90, 1000.0, speed)))
    assert (dx.first_break and dx.first_break.link) is link
    assert dx.verdict.action is Action.WATCH  # slower is never wrong
    assert any(o.link is Link.SYSTEMS and o.finding is not None for o in dx.outcomes)  # the cost is told


def test_a_run_that_learns_beside_another_job_later_on_has_no_broken_link() -> None:
    dx = diagnose(slowed(np.interp(X, (0, 0.5 * N, 0.75 * N, N), (1000, 1000, 450, 450))))
    assert dx.first_break is None


def test_a_score_that_rose_at_first_and_swings_since_is_not_said_to_have_stood_still() -> None:
    swings = np.where(X < 4, 20.0, 320 + 120 * np.sin(X / 9)) + noise(N, 3)
    dx = diagnose(run({"reward.mean": swings, "policy.entropy": 0.5 + noise(N, 0.02)}, algorithm="ppo"))
    assert "not risen" not in dx.verdict.summary


@pytest.mark.parametrize(
    ("evaluated", "harm"), [([190, 355, 428, 442, 452], Harm.NONE_YET), (190 + noise(24), Harm.APART)]
)
def test_a_few_evaluations_that_rise_with_the_return_do_not_stall(evaluated: Any, harm: Harm) -> None:
    made = run({"reward.mean": learning(N, 20, 450)}, trainer="sb3", algorithm="ppo")
    evaluation = series("eval.reward", evaluated, np.linspace(N / 5, N, len(evaluated)))
    assert diagnose(replace(made, series={**made.series, "eval.reward": evaluation})).harm is harm


def test_a_run_that_stands_still_and_is_hardly_sound_has_links_named() -> None:
    still = {
        "reward.mean": -1.2 + noise(N, 0.02),
        "policy.entropy": 1.58 + noise(N, 0.002),
        "value.loss": 0.05 + 0.01 * noise(N),
    }
    first = diagnose(run(still, algorithm="ppo")).first_break
    assert first is not None
    assert first.kind is BreakKind.FIRST_SIGN


@pytest.mark.parametrize(("first", "lost"), [(0.508, True), (0.05, False)])
def test_an_evaluation_that_fell_at_once_from_its_first_value_is_lost(first: float, lost: bool) -> None:
    later = np.resize([1 / 128, 0.0, 2 / 128, 3 / 128, 5 / 128], 24)
    dx = diagnose(run({"eval.accuracy": np.r_[round(first * 128) / 128, later]}, algorithm="grpo"))
    assert (dx.score is not None and dx.score.course == "declining") is lost
    assert (dx.harm is Harm.LOST) is lost


@pytest.mark.parametrize(("first", "cause"), [(0.0, "weights-not-delivered"), (0.35, "engines-disagree")])
def test_engines_that_agreed_until_the_first_update_compute_alike(first: float, cause: str) -> None:
    apart = np.r_[first, 0.3 + np.abs(noise(N - 1, 0.03))]
    curves = {"rollout_train.kl": apart, "reward.mean": 0.4 + noise(N, 0.03)}
    ranked = [c.id for c in diagnose(run(curves, trainer="verl", algorithm="grpo")).causes]
    both = ("weights-not-delivered", "engines-disagree")
    assert next(name for name in ranked if name in both) == cause


def test_a_run_that_slows_down_more_and_more_has_one() -> None:
    first = diagnose(slowed(1000 / (1 + 4 * np.clip((X - 40) / 120, 0, 1)))).first_break
    assert first is not None
    assert first.link is Link.SYSTEMS


def test_a_rate_that_follows_the_divergence_is_as_configured_and_does_not_jump() -> None:
    rates = 1e-3 * np.where(X % 10 < 5, 8.0, 0.05)
    for name in ("rate-not-as-configured", "learning-rate-jump"):
        assert look(name, run({"lr": rates}, config={"learning_rate": 1e-3}, algorithm="ppo")).finding is None
    assert found("rate-not-as-configured", run({"lr": np.full(N, 8e-3)}, config={"learning_rate": 1e-3}))


@pytest.mark.parametrize(("reward", "severity"), [(0.94, Severity.NOTICE), (0.06, Severity.WARNING)])
def test_equal_groups_of_prompts_that_are_solved_are_no_warning(reward: float, severity: Severity) -> None:
    curves = {"reward.mean": np.clip(reward + noise(N, 0.01), 0, 1), "reward.zero_std_frac": 0.72 + noise(N, 0.01)}
    made = run(curves, config={"group_size": 4}, algorithm="grpo")
    assert found("zero-variance-groups", made).severity is severity


@pytest.mark.parametrize(("evaluated", "told"), [(0.86, False), (0.2, True)])
def test_samples_that_come_near_to_a_good_evaluation_are_no_game(evaluated: float, told: bool) -> None:
    curves = {"reward.mean": np.linspace(0.45, 0.84, N) + noise(N, 0.02), "eval.accuracy": evaluated + noise(N, 0.01)}
    outcome = look("reward-up-evaluation-down", run(curves, algorithm="grpo"))
    assert (outcome.finding is not None) == told


@pytest.mark.parametrize(("later", "told"), [(0.08, True), (0.02, False)])
def test_a_first_divergence_that_does_not_stay_is_that_of_an_update(later: float, told: bool) -> None:
    made = run({"kl.ref": np.r_[0.08, np.full(N - 1, later)]}, trainer="trl", algorithm="grpo")
    assert (look("reference-not-initial", made).finding is not None) == told


def test_options_are_found_in_sections_that_are_named_after_what_they_configure() -> None:
    raw = {"ppo_config": {"learning_rate": 1e-3}, "generation_kwargs": {"temperature": 0.9}}
    values = hyperparameters.canonical_config(raw, dialects()["trl"]).values
    assert (values["learning_rate"], values["temperature"]) == (1e-3, 0.9)
