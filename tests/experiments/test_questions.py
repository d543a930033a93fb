"""What may be asked of arms: clear answers, no false ones, and none where nothing was measured."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from firstbreak.engine import questions
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.questions import Arms
from firstbreak.model import Config, FirstBreak, Link, Run, Series


def run(**curves: Sequence[float]) -> Run:
    series = {
        name.replace("__", "."): Series(
            name=name.replace("__", "."),
            steps=np.arange(len(values), dtype=float),
            values=np.array(values, dtype=float),
        )
        for name, values in curves.items()
    }
    return Run(path="run", series=series)


def arms(treated: Run, control: Run | None = None, original: Run | None = None, **more: Any) -> Arms:
    runs = {"treated": [treated]} | ({"control": [control]} if control else {})
    return Arms(runs=runs, folders=more.pop("folders", {}), original=original or run(), first_break=first_break, **more)


def noise(seed: int, n: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.4, 0.03, n)


def test_a_rise_is_seen_in_ten_noisy_points_and_a_flat_curve_is_not_one() -> None:
    rising = noise(0, 10) + np.linspace(0, 0.2, 10)
    assert questions.rises("reward_mean")(arms(run(reward__mean=rising))).yes is True
    assert questions.falls("reward_mean")(arms(run(reward__mean=rising))).yes is False
    flat = [questions.rises("reward_mean")(arms(run(reward__mean=noise(seed)))).yes for seed in range(200)]
    assert np.mean(flat) <= 0.05


def test_a_jump_in_the_middle_of_ten_points_is_a_change_of_level() -> None:
    jump = noise(3, 10) - np.repeat([0.0, 0.3], 5)
    assert questions.moves("eval_reward")(arms(run(eval__reward=jump))).yes is True
    flat = [questions.moves("eval_reward")(arms(run(eval__reward=noise(seed, 10)))).yes for seed in range(200)]
    assert np.mean(flat) <= 0.05


def test_a_step_is_found_wherever_it_lies_and_noise_is_none() -> None:
    asked = questions.jumps("eval_score")
    assert asked(arms(run(eval__reward=[0.4] * 4 + [0.2] * 6))).yes is True
    assert asked(arms(run(eval__reward=[0.4, 0.41, 0.39, 0.4, 0.2, 0.22, 0.19, 0.21, 0.2, 0.2]))).yes is True
    assert asked(arms(run(eval__reward=[0.4] * 10))).yes is False
    assert asked(arms(run(eval__reward=[0.4] * 3))).yes is None
    assert np.mean([asked(arms(run(eval__reward=noise(seed, 10)))).yes for seed in range(200)]) <= 0.05


def test_looking_after_every_point_finds_no_rise_in_noise() -> None:
    def ever(seed: int) -> bool:
        values = noise(seed, 64)
        asked = questions.rises("reward_mean")
        return any(asked(arms(run(reward__mean=values[:n]), ended=False)).yes for n in range(6, 65))

    assert np.mean([ever(seed) for seed in range(60)]) <= 0.1


def test_a_steep_rise_with_a_heavy_tail_is_a_rise() -> None:
    steep = [9, 9, 10, 12, 15, 30, 60, 200, 180, 500]
    assert questions.rises("eval_reward")(arms(run(eval__reward=steep))).yes is True


def test_an_arm_outruns_its_original_over_the_same_steps_only() -> None:
    original = run(reward__mean=np.concatenate([noise(1, 12), np.full(50, 0.9)]))
    better = run(reward__mean=noise(2) + np.linspace(0.02, 0.2, 12))
    assert questions.outruns("reward_mean")(arms(better, original=original)).yes is True
    same = [
        questions.outruns("reward_mean")(
            arms(run(reward__mean=noise(100 + s)), original=run(reward__mean=noise(s)))
        ).yes
        for s in range(200)
    ]
    assert same.count(True) <= 10
    assert same.count(None) <= 4, "a run that did not move is not taken for one that did"


def test_arms_are_compared_step_by_step() -> None:
    low, high = run(length__mean=noise(1, 30)), run(length__mean=noise(2, 30) + 0.2)
    assert questions.beats("length_mean")(arms(high, low)).yes is True
    assert questions.beats("length_mean", -1)(arms(high, low)).yes is False
    assert questions.beats("length_mean")(arms(high)).yes is None


def test_one_point_off_its_level_decides_and_the_level_itself_only_at_the_end() -> None:
    asked = questions.is_off({"policy_ratio_mean": 1.0, "rollout_train_kl": 0.0}, tolerance=0.02)
    assert asked(arms(run(policy__ratio__mean=[1, 1, 1.3]), ended=False)).yes is True
    assert asked(arms(run(policy__ratio__mean=[1, 1, 1]), ended=False)).yes is None
    assert asked(arms(run(policy__ratio__mean=[1, 1, 1]))).yes is False
    assert asked(arms(run(policy__ratio__mean=[1, 1], rollout_train__kl=[0.5, 0.4]))).yes is True
    assert asked(arms(run())).yes is None


def test_levels_and_gaps_are_means() -> None:
    low, high = noise(0), noise(1) + 0.3
    assert questions.lies_above("reward_mean", 0.5)(arms(run(reward__mean=high))).yes is True
    assert questions.lies_above("reward_mean", 0.5)(arms(run(reward__mean=low))).yes is False
    apart = questions.lies_apart("eval_reward", "reward_mean", by=0.1)
    assert apart(arms(run(reward__mean=low, eval__reward=high))).yes is True
    assert apart(arms(run(reward__mean=low))).yes is None


def test_a_gap_is_measured_by_that_of_the_original() -> None:
    asked = questions.lies_apart_as_before("reward_mean", "eval_reward", share=0.3)
    original = run(reward__mean=100 * noise(0), eval__reward=noise(1))
    held = run(reward__mean=80 * noise(2), eval__reward=noise(3))
    assert asked(arms(held, original=original)).yes is True
    assert asked(arms(run(reward__mean=noise(2), eval__reward=noise(3)), original=original)).yes is False
    assert asked(arms(held, original=run(reward__mean=noise(0), eval__reward=100 * noise(1)))).yes is None


def test_what_the_hooks_measured_is_read_and_a_line_in_the_writing_is_not(tmp_path: Path) -> None:
    asked = questions.watched(lambda mean: mean["right"] < mean["empty"], "right", "empty")
    rows = [{"right": 0.0, "empty": 1.0}, {"right": 0.2, "empty": 1.0}]
    (tmp_path / "watch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"right": 9')
    seen = arms(run(), folders={"treated": [tmp_path]})
    assert asked(seen).yes is True
    assert asked(arms(run())).yes is None


@pytest.mark.parametrize(
    ("rows", "yes"), [([1.0] * 9, False), ([1.0] * 5 + [0.4] * 4, True), ([1.0] * 5 + [-1.0] * 4, True), ([1.0], None)]
)
def test_a_drift_is_a_change_by_a_factor_or_of_the_sign(rows: list[float], yes: bool | None, tmp_path: Path) -> None:
    (tmp_path / "watch.jsonl").write_text("".join(json.dumps({"effect": value}) + "\n" for value in rows))
    assert questions.drifts("effect", 2.0)(arms(run(), folders={"treated": [tmp_path]})).yes is yes


def test_a_sight_that_another_question_explains_is_answered_with_no() -> None:
    high, low = questions.lies_above("reward_mean", 0.5), questions.lies_above("reward_mean", 0.9)
    seen = arms(run(reward__mean=[0.7] * 8))
    assert questions.unless(high, low)(seen).yes is True
    assert questions.unless(high, high)(seen).yes is False
    assert questions.unless(low, high)(seen).yes is False
    assert questions.unless(questions.lies_above("length_mean", 0), high)(seen).yes is None


def test_weights_that_differ_after_a_delivery_are_found(tmp_path: Path) -> None:
    def row(side: str, step: int, value: str) -> str:
        return json.dumps({"side": side, "step": step, "hashes": {"w": value}, "adapters": []}) + "\n"

    file = tmp_path / "weights.jsonl"
    file.write_text(row("trainer", 1, "a") + row("engine", 1, "a") + row("trainer", 2, "b"))
    seen = arms(run(), folders={"treated": [tmp_path]})
    asked = questions.weights_differ("engine")
    assert asked(seen).yes is False
    file.write_text(file.read_text() + row("engine", 2, "a"))
    assert asked(seen).yes is True
    assert questions.weights_differ("evaluation")(seen).yes is None
    file.write_text("".join(row(side, step, "a") for side in ("trainer", "engine") for step in (1, 2)))
    assert asked(seen).yes is None, "weights that stand still are the same on both sides, delivered or not"


def test_what_sets_in_in_the_middle_shows_in_the_later_half() -> None:
    late = run(length__clipped_ratio=[0.0] * 4 + [0.2] * 6, eval__reward=[0.5] * 10, reward__mean=[0.5] * 4 + [0.3] * 6)
    assert questions.lies_above("length_clipped_ratio", 0.15)(arms(late)).yes is True
    assert questions.lies_below("length_clipped_ratio", 0.15)(arms(late)).yes is False
    assert questions.lies_apart("eval_score", "reward_mean", by=0.15)(arms(late)).yes is True


def test_a_phase_that_takes_longer_at_last_has_slowed_down_and_one_slow_step_has_not() -> None:
    asked = questions.slows("time_rollout", 1.5)
    assert asked(arms(run(time__rollout=[0.1] * 4 + [0.2] * 6))).yes is True
    assert asked(arms(run(time__rollout=[0.1] * 8 + [0.9] + [0.1]))).yes is False
    assert asked(arms(run(time__rollout=[0.1] * 3))).yes is None


def test_a_value_that_is_no_number_is_found() -> None:
    asked = questions.is_not_finite("grad_norm")
    assert asked(arms(run(grad__norm=[1.0, np.inf, 1.0]))).yes is True
    assert asked(arms(run(grad__norm=[1.0, 2.0]))).yes is False
    assert asked(arms(run())).yes is None


def test_ratios_that_nothing_has_clipped_are_told_from_those_that_were() -> None:
    far, none, some = [3.0] * 10, [0.0] * 10, [0.2] * 10

    def asked(ratios: list[float], clipped: list[float]) -> bool | None:
        original = run(policy__ratio__max=ratios, policy__clip_fraction=clipped)
        return questions.never_clipped(arms(run(), original=original)).yes

    assert asked(far, none) is True
    assert asked(far, some) is False
    assert asked([1.1] * 10, none) is False
    assert questions.never_clipped(arms(run())).yes is None


def test_an_arm_is_compared_with_its_control_where_it_has_one() -> None:
    worse, better = run(reward__mean=noise(1)), run(reward__mean=noise(2) + np.linspace(0.02, 0.2, 12))
    told = {"treated": {}, "control": {}}
    original = run(reward__mean=np.full(12, 0.9))
    assert questions.outruns("reward_mean")(arms(better, worse, original, overrides=told)).yes is True
    assert questions.outruns("reward_mean")(arms(better, original=original)).yes is False
    assert questions.outruns("reward_mean")(arms(better, original=original, overrides=told)).yes is None


def test_a_small_lead_is_none_where_a_large_one_is_asked_for() -> None:
    ahead, far, original = run(kl__ref=noise(1) + 0.1), run(kl__ref=2.2 * noise(2)), run(kl__ref=noise(3))
    assert questions.outruns("kl_ref")(arms(ahead, original=original)).yes is True
    assert questions.outruns("kl_ref", by=1.0)(arms(ahead, original=original)).yes is False
    assert questions.outruns("kl_ref", by=1.0)(arms(far, original=original)).yes is True
    assert questions.outruns("kl_ref", -1, by=0.5)(arms(original, original=far)).yes is True
    assert questions.outruns("kl_ref", -1, by=0.5)(arms(original, original=ahead)).yes is False


def test_what_sets_in_late_is_not_outweighed_by_the_steps_before_it() -> None:
    held, lost = run(eval__reward=noise(5, 11)), run(eval__reward=[*noise(6, 6) + 0.03, 0.2, 0.15, 0.1, 0.05, 0.0])
    asked = questions.ends_above("eval_score")
    assert questions.outruns("eval_score")(arms(held, lost, overrides={"control": {}})).yes is False
    assert asked(arms(held, lost)).yes is True
    assert asked(arms(lost, held)).yes is False
    assert asked(arms(held, lost, ended=False)).yes is None
    assert asked(arms(run(eval__reward=[0.5] * 6), run(eval__reward=[0.1] * 6))).yes is None, "three points are too few"
    alike = [asked(arms(run(eval__reward=noise(s, 12)), run(eval__reward=noise(s + 999, 12)))).yes for s in range(200)]
    assert np.mean(alike) <= 0.06


def test_a_collapse_is_more_than_a_dip() -> None:
    asked, original = questions.collapses("reward_mean"), run(reward__mean=noise(1, 40))
    assert asked(arms(run(reward__mean=[0.4] + [0.0] * 9), original=original)).yes is True
    assert asked(arms(run(reward__mean=noise(2, 10) - 0.04), original=original)).yes is False
    assert asked(arms(run(reward__mean=[0.0] * 9))).yes is None
    assert asked(arms(run(reward__mean=[0.0] * 9), original=run(reward__mean=[0.0] * 40))).yes is None
    losses = run(reward__mean=-1200 + 1000 * noise(1, 40))
    assert asked(arms(run(reward__mean=[-1600.0] * 9), original=losses)).yes is True, "also where rewards are negative"


def first_break(run: Run) -> FirstBreak | None:
    return diagnose(run).first_break


@pytest.mark.parametrize("breaks", [(True, True, False), (False, True, False), (False, False, False)])
def test_a_break_belongs_to_the_loop_where_most_seeds_repeat_it(breaks: Sequence[bool]) -> None:
    stuck = replace(run(length__clipped_ratio=[0.9] * 40, reward__mean=noise(1, 40)), algorithm="grpo")
    sound = replace(run(length__clipped_ratio=[0.0] * 40, reward__mean=noise(1, 40)), algorithm="grpo")
    seeds = [stuck if broken else sound for broken in breaks]
    answer = questions.breaks_again(Arms(runs={"treated": seeds}, folders={}, original=stuck, first_break=first_break))
    assert answer.yes is (sum(breaks) > 1)
    assert (
        questions.breaks_again(Arms(runs={"treated": seeds}, folders={}, original=sound, first_break=first_break)).yes
        is None
    )


@pytest.mark.parametrize(("link", "no"), [(Link.ROLLOUT, False), (Link.EVALUATION, None), (Link.SYSTEMS, None)])
def test_that_a_slow_break_does_not_come_again_in_a_short_arm_says_nothing(link: Link, no: bool | None) -> None:
    broken, sound = run(), replace(run(), path="sound")
    found = {"run": SimpleNamespace(first_break=SimpleNamespace(link=link)), "sound": SimpleNamespace(first_break=None)}
    diagnosed = {"first_break": lambda seen: found[seen.path].first_break}
    assert questions.breaks_again(replace(arms(sound, original=broken), **diagnosed)).yes is no
    assert questions.breaks_again(replace(arms(broken, original=broken), **diagnosed)).yes is True


def written(folder: Path, file: str, rows: Sequence[dict[str, Any]]) -> dict[str, list[Path]]:
    (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"treated": [folder]}


NEGATED = catalogue()["reward-negated"].questions
LEARNS = [76, 310, 500, 214, 488, 171, 500, 402, 333, 268]  # evaluations that jump between 76 and 500


@pytest.mark.parametrize("n", [4, 6, 8, 10])
def test_a_trial_at_76_to_500_beside_a_run_at_8_to_10_is_better_whatever_its_own_trend(n: int) -> None:
    original = run(eval__reward=np.random.default_rng(n).uniform(8, 10, 60))
    rises, falls = (q.answer(arms(run(eval__reward=LEARNS[:n]), original=original)) for q in NEGATED)
    assert rises.yes is True
    assert "above the original run's" in rises.reason
    assert falls.yes is not True


@pytest.mark.parametrize("n", [4, 6, 10])
def test_a_trial_like_its_run_is_not_better_beyond_chance(n: int) -> None:
    for question in NEGATED:
        answers = [
            question.answer(arms(run(eval__reward=noise(s, n)), original=run(eval__reward=noise(500 + s, 60)))).yes
            for s in range(200)
        ]
        assert answers.count(True) <= 12


def test_a_trial_that_would_not_have_shown_a_change_like_the_runs_own_is_too_short_to_tell() -> None:
    rng = np.random.default_rng(5)
    original = run(reward__mean=np.linspace(0.3, 0.5, 400) + rng.normal(0, 0.3, 400))
    short = questions.outruns("reward_mean")(arms(run(reward__mean=rng.normal(0.3, 0.3, 10)), original=original))
    assert short.yes is None
    assert short.reason.startswith("too short to tell")
    assert 40 < short.needed < 200
    whole = questions.outruns("reward_mean")(arms(run(reward__mean=rng.normal(0.3, 0.3, 200)), original=original))
    assert whole.yes is False
    assert "would have shown" in whole.reason


def test_the_same_score_is_compared_and_a_trial_before_the_first_evaluation_by_its_reward() -> None:
    def series(name: str, steps: Sequence[float], values: Sequence[float]) -> dict[str, Series]:
        return {name: Series(name=name, steps=np.array(steps, float), values=np.array(values, float))}

    rng, steps = np.random.default_rng(6), np.arange(1.0, 301)
    evaluations = series("eval.reward", np.arange(50, 301, 25), np.full(11, 0.9))
    rewards = series("reward.mean", steps, 0.2 + rng.normal(0, 0.01, 300))
    better = series("reward.mean", steps[:40], 0.4 + rng.normal(0, 0.01, 40))
    early = series("eval.reward", np.arange(4, 41, 4), np.linspace(0.2, 0.4, 10))
    asked, trial = questions.outruns("score"), Run(path="t", series=better | early)
    answer = asked(arms(trial, original=Run(path="o", series=evaluations | rewards)))
    assert answer.yes is True
    assert "reward.mean" in answer.reason
    blind = asked(arms(Run(path="t", series=early), original=Run(path="o", series=evaluations)))
    assert blind.yes is None
    assert "up to step 40" in blind.reason
    assert blind.needed * 40 >= 175, "six evaluations of the run"


def test_memory_that_fills_in_the_first_steps_is_not_yet_growth(tmp_path: Path) -> None:
    filling = 400 + 600 * (1 - np.exp(-np.arange(30) / 10))
    folders = written(tmp_path, "watch.jsonl", [{"resident": level} for level in filling])
    answer = questions.grows("resident", 0.045)(arms(run(), folders=folders))
    assert answer.yes is None
    assert answer.needed == 60


def test_memory_that_grows_without_a_pause_is_a_leak_and_memory_that_was_filled_is_not(tmp_path: Path) -> None:
    def asked(levels: Sequence[float]) -> bool | None:
        folders = written(tmp_path, "watch.jsonl", [{"resident": level} for level in levels])
        return questions.grows("resident", 0.01)(arms(run(), folders=folders)).yes

    assert asked(np.linspace(100, 200, 40)) is True
    assert asked([*np.linspace(100, 200, 20), *[200.0] * 20]) is False
    assert asked([100.0]) is None


def test_waiting_for_a_processor_counts_only_where_the_run_was_unsteady_too(tmp_path: Path) -> None:
    asked = questions.both(
        questions.watched(lambda mean: mean["queued"] > 0.4, "queued"), questions.was_unsteady("time_train", 1.6)
    )
    folders = written(tmp_path, "watch.jsonl", [{"queued": 0.6}] * 6)
    bursts, steady = run(time__train=[0.1] * 8 + [0.3] * 8), run(time__train=[0.1] * 16)
    assert asked(arms(run(), original=bursts, folders=folders)).yes is True
    assert asked(arms(run(), original=steady, folders=folders)).yes is False
    assert asked(arms(run(), folders=folders)).yes is None


def test_the_rate_of_an_optimizer_is_compared_with_the_one_that_was_told(tmp_path: Path) -> None:
    rows = [
        {"optimizer": 0, "rate": 5.0},  # a warm-up's: it makes no step once the others have begun
        {"optimizer": 1, "rate": 1e-6},
        {"optimizer": 2, "rate": 1e-9},
        {"optimizer": 1, "rate": 3e-5},
    ]
    seen = arms(run(), folders=written(tmp_path, "watch.jsonl", rows), overrides={"treated": {"learning_rate": 1e-6}})
    assert questions.rate_is(above=20)(seen).yes is True
    assert questions.rate_is(above=40)(seen).yes is False
    assert questions.rate_is(one_below=0.01)(seen).yes is True
    assert questions.rate_is(below=0.01)(seen).yes is False
    assert questions.rate_is(above=0)(replace(seen, overrides={})).yes is None


def test_a_setting_is_the_one_in_force_then_the_one_told_then_the_one_recorded(tmp_path: Path) -> None:
    def wide(seen: Arms) -> bool | None:
        return questions.is_set("clip_range", above=1, off=True)(seen).yes

    recorded = replace(run(), config=Config(values={"clip_range": 0.2}))
    assert wide(arms(run())) is None
    assert wide(arms(run(), original=recorded)) is False
    assert wide(arms(run(), original=recorded, overrides={"treated": {"clip_range": 9}})) is True
    rows = [{"clip_range": 0.2}, {"clip_range": None}]
    assert wide(arms(run(), original=recorded, folders=written(tmp_path, "settings.jsonl", rows))) is True


@pytest.mark.parametrize("asked", [questions.rises("score"), questions.moves("score"), questions.outruns("score")])
def test_nothing_recorded_is_an_open_question(asked: questions.Asked) -> None:
    assert asked(arms(run())).yes is None
