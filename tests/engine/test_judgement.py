"""One judgement: score, signs, harm, and the action of the table."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.judgement import ACTIONS, Worst, first_break_of
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.verdict import _why, causes_in_question
from firstbreak.model import (
    Action,
    BreakKind,
    Confidence,
    Finding,
    FirstBreak,
    Harm,
    Interval,
    Link,
    Outcome,
    RankedCause,
    Role,
    Run,
    Severity,
    Status,
    Weight,
    WeightKind,
)
from firstbreak.values import replace
from tests.make import noise, run, series

ORDER = (Action.CONTINUE, Action.WATCH, Action.STOP, Action.ROLLBACK)  #: the mildest first
N = 200


def mild(action: Action) -> int:
    """How far an action interferes; a rollback is a stop that knows where to go back to."""
    return min(ORDER.index(action), ORDER.index(Action.STOP))


@pytest.mark.parametrize("harm", Harm)
def test_a_worse_sign_never_gives_a_milder_action(harm: Harm) -> None:
    column = [mild(ACTIONS[worst][harm]) for worst in Worst]
    assert column == sorted(column, reverse=True)


@pytest.mark.parametrize("worst", Worst)
def test_more_harm_never_gives_a_milder_action(worst: Worst) -> None:
    for more, less in itertools.pairwise((Harm.LOST, Harm.LOSING, Harm.STALLED, Harm.NONE_YET)):
        assert mild(ACTIONS[worst][more]) >= mild(ACTIONS[worst][less])


def test_an_evaluation_that_peaked_and_declined_is_rolled_back_to_its_best() -> None:
    at = np.arange(0, N, 5)
    peaked = np.r_[np.linspace(0.2, 0.8, 20), np.linspace(0.8, 0.5, 20)]
    evaluation = series("eval.accuracy", peaked + noise(40, 0.01), at)
    training = series("reward.mean", np.linspace(0, 1, N) + noise(N, 0.02, 1), np.arange(N))
    said = diagnose(Run(path="a-run", series={"eval.accuracy": evaluation, "reward.mean": training}, algorithm="grpo"))
    assert (said.harm, said.verdict.action) == (Harm.LOST, Action.ROLLBACK)
    assert said.best_checkpoint is not None
    assert 80 <= said.best_checkpoint.step <= 110
    assert said.score is not None
    assert (said.score.metric, said.score.course) == ("eval.accuracy", "peaked")


def test_a_score_that_rises_beside_a_critical_sign_is_watched_and_the_sign_is_named() -> None:
    ratio = 1 + np.r_[np.zeros(100), np.full(100, 2.0)]
    curves = {"reward.mean": np.linspace(0, 1, N) + noise(N, 0.02), "policy.ratio.mean": ratio}
    said = diagnose(run(curves, algorithm="grpo"))
    assert (said.harm, said.verdict.action) == (Harm.NONE_YET, Action.WATCH)
    assert said.first_break is not None
    assert said.first_break.kind is BreakKind.FIRST_SIGN
    assert said.verdict.summary.startswith("First sign at ")


def test_what_stops_a_run_is_a_break_even_where_no_score_shows_harm() -> None:
    ratio = 1 + np.r_[np.zeros(100), np.full(100, 2.0)]
    said = diagnose(run({"policy.ratio.mean": ratio}, algorithm="grpo"))
    assert (said.harm, said.verdict.action) == (Harm.NOT_MEASURED, Action.STOP)
    assert said.first_break is not None
    assert said.first_break.kind is BreakKind.BREAK
    assert said.verdict.summary.startswith("First break at ")


def test_the_table_of_the_documentation_is_the_one_in_force() -> None:
    page = (Path(__file__).parents[2] / "docs" / "design.md").read_text()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    start = next(i for i, row in enumerate(rows) if row[0] == "worst sign")
    assert rows[start][1:] == list(Harm)
    for row, harms in zip(rows[start + 2 :], ACTIONS.values(), strict=False):
        assert row[1:] == list(harms.values())
    assert len(rows[start + 2 : start + 2 + len(ACTIONS)]) == len(ACTIONS)


def test_a_run_without_a_score_is_not_sent_on() -> None:
    said = diagnose(run({"policy.entropy": 1 + noise(N, 0.01)}, algorithm="ppo"))
    assert (said.score, said.harm, said.verdict.action) == (None, Harm.NOT_MEASURED, Action.WATCH)


def test_a_setting_far_from_what_is_usual_is_named_where_the_score_goes_nowhere_and_only_there() -> None:
    config = {"buffer_size": 80, "target_update_interval": 10, "learning_rate": 1e-3, "total_steps": 20_000}
    flat, rising = -200 + noise(N, 5.0), np.linspace(-200, 0, N) + noise(N, 5.0)
    stalled = diagnose(run({"reward.mean": flat}, algorithm="dqn", trainer="sb3", config=config))
    assert stalled.first_break is not None
    assert (stalled.first_break.link.value, stalled.first_break.kind) == ("advantage", BreakKind.FIRST_SIGN)
    assert "buffer_size is 80, below what is usual (1600 or more)" in stalled.verdict.summary
    assert "`buffer_size` (now 80)" in stalled.verdict.do_first
    learns = diagnose(run({"reward.mean": rising}, algorithm="dqn", trainer="sb3", config=config))
    assert (learns.first_break, learns.verdict.action) == (None, Action.CONTINUE)


def test_a_score_that_never_rose_above_its_start_is_started_again() -> None:
    said = diagnose(run({"reward.mean": 10 - np.linspace(0, 1, N) + noise(N, 0.05)}, algorithm="ppo"))
    assert said.verdict.action is Action.STOP
    assert said.verdict.do_first.startswith("Stop the run, and start again: the score was never above its start")


def test_a_cause_without_a_setting_behind_it_is_named_alone() -> None:
    cause = RankedCause(id="memory", title="Memory is full", link=Link.SYSTEMS, probability=0.6, evidence=())
    told = _why(FirstBreak(link=Link.SYSTEMS, or_earlier=False), [cause])
    assert told == "Most probable cause: memory is full (60 % likely)."


def test_a_growth_that_a_jump_dates_later_does_not_come_first() -> None:
    def seen(name: str, link: Link, metric: str, onset: float, last: float, *, sudden: bool = False) -> Outcome:
        severity = Severity.WARNING if sudden else Severity.CRITICAL
        found = Finding(
            message=name, severity=severity, metric=metric, onset=onset, interval=(onset, last), sudden=sudden
        )
        return Outcome(detector=name, link=link, status=Status.FOUND, finding=found)

    growth = seen("length-runaway", Link.ROLLOUT, "length.mean", 35.0, 44.0)
    jump = seen("length-jump", Link.ROLLOUT, "length.mean", 44.0, 44.0, sudden=True)
    update = seen("kl-reward", Link.POLICY_UPDATE, "kl.ref", 39.0, 46.0)
    for found, link in (((growth, update), Link.ROLLOUT), ((growth, jump, update), Link.POLICY_UPDATE)):
        broke = first_break_of(found, (), found, Harm.LOST)
        assert broke is not None
        assert broke.link is link


@pytest.mark.parametrize(("falls", "action"), [(False, Action.WATCH), (True, Action.ROLLBACK)])
def test_a_few_evaluations_of_a_control_policy_fall_for_good_where_training_falls_too(
    falls: bool, action: Action
) -> None:
    at = np.arange(5000, 40000, 5000)
    means = np.array([160.0, 300, 450, 440, 120, 115, 110])
    evaluation = {
        "eval.reward": series("eval.reward", means, at),
        "eval.reward.std": series("eval.reward.std", np.full(7, 30.0), at),
        "eval.reward.count": series("eval.reward.count", np.full(7, 10.0), at),
    }
    level = np.interp(np.arange(N), [0, 90, N], [20, 200, 60 if falls else 260]) + noise(N, 5.0)
    training = series("reward.mean", level, np.linspace(200, 35000, N))
    said = diagnose(Run(path="a-run", series=evaluation | {"reward.mean": training}, algorithm="dqn"))
    assert said.verdict.action is action


def test_an_evaluation_whose_episodes_fail_more_often_does_not_still_rise() -> None:
    at = np.arange(5000, 110000, 5000)
    means = [
        -3980,
        -26,
        -20,
        -23,
        -25,
        -24,
        -22,
        -19,
        -1020,
        -13,
        -1020,
        -1020,
        -20,
        -13,
        -1010,
        -3010,
        -13,
        -1010,
        -1010,
        -18,
        -18,
    ]
    spread = np.where(np.array(means) < -1000, 2000.0, 4.0)
    curves = {"eval.reward": means, "eval.reward.std": spread, "eval.reward.count": np.full(21, 5.0)}
    evaluation = {name: series(name, values, at) for name, values in curves.items()}
    returns = [-706, -543, -400, -321, -261, -224, -138, -89, -56, -61, -64, -49, -45]
    training = series("reward.mean", returns, np.linspace(8192, 106496, 13))
    said = diagnose(Run(path="a-run", series=evaluation | {"reward.mean": training}, algorithm="ppo"))
    assert said.score is not None
    assert said.score.course != "rising"


def seen(
    name: str, link: Link, metric: str, began: Interval, *, sure: bool = True, roles: frozenset[Role] = frozenset()
) -> Outcome:
    """A critical finding, or a warning of medium confidence."""
    finding = Finding(
        message=name,
        severity=Severity.CRITICAL if sure else Severity.WARNING,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        metric=metric,
        onset=began[1],
        interval=began,
    )
    return Outcome(detector=name, link=link, status=Status.FOUND, finding=finding, roles=roles)


def cause(name: str, link: Link, probability: float, *explains: str) -> RankedCause:
    evidence = tuple(Weight(finding=each, weight=1.0, kind=WeightKind.FOUND, text=each) for each in explains)
    return RankedCause(id=name, title=name, link=link, probability=probability, evidence=evidence)


@pytest.mark.parametrize(("last", "link"), [(33.0, Link.POLICY_UPDATE), (20.0, Link.ADVANTAGE)])
def test_a_critical_sign_that_the_one_cause_does_not_explain_comes_first_only_where_it_surely_did(
    last: float, link: Link
) -> None:
    signs = (
        seen("equal-groups", Link.ADVANTAGE, "reward.zero_std_frac", (last, last)),
        seen("rate-jump", Link.POLICY_UPDATE, "lr", (32.0, 34.0)),
    )
    broke = first_break_of(signs, [cause("step", Link.POLICY_UPDATE, 0.97, "rate-jump")], signs, Harm.LOST)
    assert broke is not None
    assert broke.link is link


@pytest.mark.parametrize(("second", "link"), [(0.4, Link.ENVIRONMENT), (0.0, Link.ADVANTAGE)])
def test_two_causes_of_one_link_are_sure_of_it_together(second: float, link: Link) -> None:
    critic = seen("critic", Link.ADVANTAGE, "value.explained_variance", (9.0, 9.0), roles=frozenset({Role.RELATION}))
    ranked = [
        cause("observations", Link.ENVIRONMENT, 0.5, "critic"),
        cause("changed", Link.ENVIRONMENT, second, "critic"),
    ]
    broke = first_break_of([critic], ranked, [critic], Harm.LOST)
    assert broke is not None
    assert broke.link is link


@pytest.mark.parametrize("harm", [Harm.NONE_YET, Harm.STALLED])
def test_a_phase_that_takes_over_is_named_where_the_run_is_slower(harm: Harm) -> None:
    rollout = seen("rollout-share", Link.SYSTEMS, "time.rollout", (28.0, 28.0))
    slower = seen("throughput-drop", Link.SYSTEMS, "throughput.tok_s", (28.0, 28.0))
    for signs in ((rollout,), (slower,), (rollout, slower)):
        broke = first_break_of(signs, (), signs, harm)
        assert (broke is not None) == (len(signs) == 2)
    grows = seen("throughput-drop", Link.SYSTEMS, "time.iteration", (2.0, 50.0))  # and not from one step to the next
    assert first_break_of([grows], (), [grows], harm) is not None


@pytest.mark.parametrize(
    ("healthy", "kind"), [(0.6, BreakKind.FIRST_SIGN), (0.3, BreakKind.FIRST_SIGN), (0.1, BreakKind.BREAK)]
)
def test_a_break_is_only_a_sign_where_nothing_is_wrong_is_more_probable_than_its_links(
    healthy: float, kind: BreakKind
) -> None:
    sign = seen("divergence", Link.POLICY_UPDATE, "kl.old", (20.0, 30.0))
    sound = RankedCause(id=HEALTHY, title="Nothing is wrong", link=None, probability=healthy, evidence=())
    others = (Link.ENVIRONMENT, Link.REWARD, Link.ADVANTAGE, Link.NUMERICS)
    named = cause("step-size", Link.POLICY_UPDATE, 0.2, "divergence")
    ranked = (sound, named, *(cause(link.value, link, 0.05) for link in others))
    broke = first_break_of([sign], ranked, [sign], Harm.LOSING)
    assert broke is not None
    assert broke.kind is kind


def test_the_causes_in_question_are_named_in_order_without_a_gap() -> None:
    causes = [
        cause("goal-never-reached", Link.ENVIRONMENT, 0.42),
        cause("action-sign", Link.ENVIRONMENT, 0.35),
        cause("premature-convergence", Link.EXPLORATION, 0.3, "entropy-collapse"),
        cause("entropy-bonus", Link.EXPLORATION, 0.1),
    ]
    first = FirstBreak(link=Link.EXPLORATION, or_earlier=False, detector="entropy-collapse", metric="policy.entropy")
    told = _why(first, causes)
    assert told.startswith("Undecided between three causes")
    assert told.index("42 %") < told.index("35 %") < told.index("30 % likely, at exploration")
    assert [c.probability for c in causes_in_question(causes, first)] == [0.42, 0.35, 0.3]


def test_where_only_the_other_of_two_links_has_a_cause_it_is_said_to_be_there() -> None:
    first = FirstBreak(
        link=Link.ROLLOUT, or_earlier=False, also=Link.SYSTEMS, detector="tool-errors", metric="tool.error_frac"
    )
    assert "at systems" in _why(first, [cause("phases-out-of-balance", Link.SYSTEMS, 0.5)])


def test_a_trend_of_a_curve_whose_numbers_do_not_fit_comes_after_the_relation() -> None:
    curves = {
        "value.mean": np.geomspace(9, 1600, 60),
        "reward.mean": np.linspace(20, 9.5, 60) + noise(60, 0.3),
        "episode.length": np.linspace(20, 9.5, 60) + noise(60, 0.3, 1),
    }
    first = diagnose(run(curves, algorithm="dqn", config={"gamma": 0.99})).first_break
    assert first is not None
    assert first.detector == "value-scale-mismatch"


def test_a_policy_that_games_its_reward_drifts_and_the_reward_comes_first() -> None:
    rising, falling = np.linspace(0.3, 1.0, N) + noise(N, 0.01), np.linspace(0.5, 0.05, N) + noise(N, 0.01, 1)
    said = diagnose(
        run({"reward.mean": rising, "eval.accuracy": falling, "kl.ref": np.linspace(0.0, 3.0, N)}, algorithm="grpo")
    )
    assert {"far-from-reference", "reward-up-evaluation-down"} <= {o.detector for o in said.findings}
    assert said.first_break is not None
    assert said.first_break.link is Link.REWARD


def test_a_model_that_no_longer_writes_its_text_is_stopped_though_its_pairs_are_told_apart() -> None:
    curves = {
        "eval.pref.reward.accuracy": np.linspace(0.5, 0.9, N),
        "policy.token_accuracy": np.where(np.arange(N) < N // 4, 0.95, 0.25) + noise(N, 0.01),
        "pref.logp.chosen": np.where(np.arange(N) < N // 4, -10.0, -600.0) + noise(N, 0.5, 1),
        "pref.logp.rejected": np.where(np.arange(N) < N // 4, -12.0, -900.0) + noise(N, 0.5, 2),
    }
    said = diagnose(run(curves, algorithm="dpo", trainer="trl"))
    assert "far-from-reference" in {o.detector for o in said.findings}
    assert (said.verdict.action, said.harm) == (Action.STOP, Harm.APART)


def test_groups_whose_rewards_differ_are_no_copies_and_half_precision_is_evidence() -> None:
    still = {"kl.ref": np.full(N, 1e-4), "reward.mean": 0.4 + noise(N, 0.02), "lr": np.full(N, 2e-5)}
    causes = {
        share: {c.id: c for c in diagnose(_half(still | {"reward.zero_std_frac": np.full(N, share)})).causes}
        for share in (0.1, 0.9)
    }
    kinds = {
        share: {w.kind for w in found["samples-without-variety"].evidence}
        if "samples-without-variety" in found
        else None
        for share, found in causes.items()
    }
    assert kinds[0.1] is None or WeightKind.REFUTED in kinds[0.1]
    assert kinds[0.9] is not None
    assert WeightKind.REFUTED not in kinds[0.9]
    weights = causes[0.1]["updates-rounded-away"].evidence
    assert any("bfloat16" in w.text for w in weights if w.kind is WeightKind.CONFIGURATION)


def _half(curves: dict[str, np.ndarray]) -> Run:
    made = run(curves, algorithm="grpo")
    return replace(made, config=replace(made.config, raw={"param_dtype": "bfloat16", "master_weights": False}))


@pytest.mark.parametrize(("first", "course"), [(-870.0, "plateau"), (-3.0, "rising")])
def test_a_score_that_still_rises_is_not_at_its_maximum_because_it_began_far_below(first: float, course: str) -> None:
    rising = np.r_[np.full(3, first), np.linspace(-3.0, -1.5, N - 3) + noise(N - 3, 0.05)]
    score = diagnose(run({"reward.mean": rising})).score
    assert score is not None
    assert score.course == course
