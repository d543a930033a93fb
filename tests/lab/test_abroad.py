"""A stranger's run holds what its trainer logs by default and no more, and a fault without a mark is not counted as missed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.abroad.answers import STEPS, Answer, Row
from benchmarks.abroad.default_curves import SHOWN_AS, TRL_GRPO
from benchmarks.abroad.figures import Judged, at, figures, judged
from benchmarks.abroad.stranger import Draw, brought, drawn, shown
from benchmarks.abroad.tables import tables
from benchmarks.abroad.visible import discoveries, p_value, permuted
from firstbreak_lab.bases import BASES

from firstbreak import dialects
from firstbreak.model import Config, Run, Series
from tests.lab.runs import label

STEPS_OF_RUN = 100
TRAINERS = {id(one): one for every in SHOWN_AS.values() for one in every}.values()


def run(seed: int = 0, entropy: float = 1.0, **more: Any) -> Run:
    """A run that logs more than any trainer does by default."""
    rng = np.random.default_rng(seed)
    levels = {"reward.mean": 0.5, "policy.entropy": entropy, "kl.ref.k3": 0.1, "reward.group_std": 0.2} | more
    steps = np.arange(1.0, STEPS_OF_RUN + 1)
    series = {
        name: Series(name=name, steps=steps, values=level + rng.normal(0, 0.01, len(steps)))
        for name, level in levels.items()
    }
    return Run(path="x", trainer="areal", algorithm="grpo", series=series, config=Config(values={"gamma": 0.9}))


# What a stranger brings ---------------------------------------------------------------------------------------------------


def test_every_base_of_the_lab_is_shown_as_a_public_trainer() -> None:
    assert set(SHOWN_AS) == set(BASES)


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda one: one.dialect)
def test_a_default_name_is_one_that_its_trainer_is_known_to_write(trainer: Any) -> None:
    dialect = dialects.dialects()[trainer.dialect]
    assert all(dialects.translate(name, dialect) for name in [*trainer.curves, *trainer.evaluation])


@pytest.mark.parametrize("evaluated", [True, False])
def test_a_stranger_brings_nothing_but_default_curves(evaluated: bool) -> None:
    more: dict[str, Any] = {
        "eval.reward": 0.4,
        "eval.accuracy": 0.4,
        "advantage.of_prompt_absmax": 0.2,
        "length.mean": 7.0,
    }
    lab = run(**more)
    seen = brought(lab, Draw(TRL_GRPO, evaluated), STEPS_OF_RUN)
    raw = {series.raw for series in (*seen.series.values(), *seen.unknown.values(), *seen.duplicates)} - {"step"}
    default = {"reward", "reward_std", "entropy", "kl", "completions/mean_length"}
    assert raw == default | ({"eval_reward", "eval_rewards/accuracy/mean"} if evaluated else set())
    assert set(seen.config.values) <= seen.config.defaulted
    assert seen.samples is None
    assert seen.trainer == "trl"


def test_a_curve_keeps_its_value_in_the_units_of_another_trainer() -> None:
    (sb3, _) = SHOWN_AS["classic/ppo-cartpole"]
    lab = run(entropy=0.7)
    assert shown(lab, Draw(sb3, False), STEPS_OF_RUN)["train/entropy_loss"][1].mean() == pytest.approx(-0.7, abs=0.01)
    assert brought(lab, Draw(sb3, False), STEPS_OF_RUN).series["policy.entropy"].values.mean() == pytest.approx(
        0.7, abs=0.01
    )


def test_without_a_penalty_no_divergence_is_logged() -> None:
    lab = run()
    free = replace(lab.series["kl.ref.k3"], name="reward.kl_penalty", values=np.zeros(STEPS_OF_RUN))
    without = replace(lab, series={**lab.series, "reward.kl_penalty": free})
    assert "kl" in shown(lab, Draw(TRL_GRPO, False), STEPS_OF_RUN)
    assert "kl" not in shown(without, Draw(TRL_GRPO, False), STEPS_OF_RUN)


def test_length_cadence_and_lost_curves_are_those_of_the_draw() -> None:
    draw = Draw(TRL_GRPO, False, end=0.5, cadence=5, lost=frozenset({"entropy"}))
    curves = shown(run(), draw, STEPS_OF_RUN)
    assert set(curves) == {"reward", "reward_std", "kl"}
    assert curves["reward"][0].tolist() == list(range(5, 51, 5))


def test_a_draw_is_the_same_for_the_same_run_and_another_for_the_next() -> None:
    truth = label("groups-mixed")
    draws = [drawn("a.tar.xz", truth, number) for number in range(20)]
    assert draws == [drawn("a.tar.xz", truth, number) for number in range(20)]
    assert len({d.end for d in draws}) == 20
    onset = (truth.onset or 0) / truth.steps
    assert all(onset < d.end <= 1 for d in draws)


def test_curves_are_lost_and_the_score_never() -> None:
    draws = [drawn("a.tar.xz", label(base="classic/dqn-cartpole"), number) for number in range(40)]
    assert {len(d.lost) for d in draws} == {0, 1, 2}
    assert all({"rollout/ep_rew_mean", "charts/episodic_return"} & d.names.keys() for d in draws)


# What can be seen ---------------------------------------------------------------------------------------------------------


def test_a_fault_that_moves_a_curve_is_seen_and_one_that_moves_none_is_not() -> None:
    truth, draw = label("groups-mixed", steps=STEPS_OF_RUN), Draw(TRL_GRPO, False)
    twins = [run(seed) for seed in range(5)]
    assert p_value([run(seed, entropy=1.1) for seed in range(5, 10)], twins, truth, draw) < 0.01
    assert p_value([run(seed) for seed in range(5, 10)], twins, truth, draw) > 0.05
    assert p_value(twins, twins, truth, draw) > 0.9


def test_a_curve_that_is_lost_shows_nothing() -> None:
    truth = label("groups-mixed", steps=STEPS_OF_RUN)
    draw = Draw(TRL_GRPO, False, lost=frozenset({"entropy"}))
    assert p_value([run(s, entropy=1.1) for s in range(5, 10)], [run(s) for s in range(5)], truth, draw) > 0.05


def test_a_clock_is_a_mark_of_systems_alone() -> None:
    slow, fast = ([run(s, **{"time.step": t}) for s in seeds] for t, seeds in ((9.0, range(5, 10)), (1.0, range(5))))
    draw = Draw(TRL_GRPO, False)
    assert p_value(slow, fast, label("groups-mixed", steps=STEPS_OF_RUN), draw) > 0.05
    assert p_value(slow, fast, label("groups-mixed", steps=STEPS_OF_RUN, link="systems"), draw) < 0.01


def test_under_no_difference_the_test_is_as_rare_as_it_says() -> None:
    rng = np.random.default_rng(0)
    p = [permuted(rng.normal(size=(10, 30)), 5) for _ in range(200)]
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.1


def test_false_discoveries_are_limited_as_by_benjamini_and_hochberg() -> None:
    assert discoveries([0.01, 0.02, 0.03, 0.9]) == [True, True, True, False]
    assert discoveries([0.04, 0.3, 0.5, 0.9]) == [False] * 4


# Figures -------------------------------------------------------------------------------------------------------


def answer(
    link: str | None, *, guess: str | None = None, spoke: tuple[str, ...] = (), mute: tuple[str, ...] = (), **more: Any
) -> Answer:
    links = {guess or link or "reward": (0.6, 0.5), "systems": (0.3, 0.2)}
    values: dict[str, Any] = dict(
        link=link, stop=False, cause="x", healthy=0.1, links=links, blind=(), also=None, stated=0.6
    )
    return Answer(**values | dict(spoke=dict.fromkeys(spoke, "warning"), mute=mute) | more)


def one(
    abroad: Answer, home: Answer | None = None, variant: str = "groups-mixed", visible: bool = True, **truth: Any
) -> Judged:
    answers = dict.fromkeys(STEPS, abroad) | {"home": home or abroad}
    how: dict[str, Any] = dict(number=0, trainer="trl", end=1.0, cadence=1, evaluated=False, lost=())
    healthy = variant == "untouched"
    row = Row(archive=variant, p=None if healthy else 0.0, answers=answers, **how)
    return Judged(row, label(variant, **truth), visible and not healthy)


def test_strict_accepted_and_abstaining_answers_are_counted_apart() -> None:
    accepted = one(answer("advantage"), variant="tiny-spread-amplified", link="numerics")
    silent = one(answer(None, guess="advantage"))
    said = at(
        "abroad",
        [one(answer("advantage")), silent, one(answer("reward")), accepted, one(answer(None), variant="untouched")],
    )
    assert (said["found"], said["abstaining"], said["abstaining_accepted"]) == (0.75, 0.25, 0.5)
    assert (said["forced"], said["forced_accepted"], said["always"]) == (0.5, 0.75, 0.0)
    assert said["n_healthy"] == 1
    assert 0.5 < said["healthy_accused_bound"] < 1.0


def test_what_leaves_no_mark_is_counted_apart() -> None:
    unseen = one(answer("reward"), visible=False)
    both = figures([one(answer("advantage")), unseen, one(answer(None), variant="untouched")])
    assert both["steps"]["abroad"]["abstaining"] == 1.0
    assert (both["n_faulty"], both["n_visible"], both["invisible"]["n"], both["invisible"]["accused"]) == (2, 1, 1, 1.0)


def test_a_row_is_visible_if_its_p_value_is_a_discovery() -> None:
    rows = [replace(one(answer(None)).row, archive=name, p=p) for name, p in (("a", 0.001), ("b", 0.9))]
    healthy = replace(rows[0], archive="c", p=None)
    truths = {"a": label("groups-mixed"), "b": label("groups-mixed"), "c": label()}
    assert [j.visible for j in judged([*rows, healthy], truths)] == [True, False, False]


def test_the_tables_show_home_and_abroad_side_by_side() -> None:
    every = [one(answer("reward"), answer("advantage")), one(answer(None), variant="untouched")]
    made = tables(figures(every) | {"power": {}})
    assert "| first break named, strict | 100% | 0% |" in made["abroad"]
