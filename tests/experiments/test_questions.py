"""What may be asked of arms: clear answers, no false ones, and none where nothing was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstbreak.experiments import questions
from firstbreak.experiments.questions import Arms
from firstbreak.model import Run, Series


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
    return Arms(runs=runs, folders=more.pop("folders", {}), original=original or run(), **more)


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
    assert np.mean(same) <= 0.05


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


def test_a_question_about_groups_is_open_elsewhere() -> None:
    asked = questions.only_for("family", "group", questions.is_off({"advantage_of_prompt_absmax": 0.0}, tolerance=0.1))
    off = run(advantage__of_prompt_absmax=[0.5] * 8)
    assert asked(arms(off, original=replace(run(), algorithm="grpo"))).yes is True
    assert asked(arms(off, original=replace(run(), algorithm="ppo"))).yes is None


def test_levels_and_gaps_are_means() -> None:
    low, high = noise(0), noise(1) + 0.3
    assert questions.lies_above("reward_mean", 0.5)(arms(run(reward__mean=high))).yes is True
    assert questions.lies_above("reward_mean", 0.5)(arms(run(reward__mean=low))).yes is False
    apart = questions.lies_apart("eval_reward", "reward_mean", by=0.1)
    assert apart(arms(run(reward__mean=low, eval__reward=high))).yes is True
    assert apart(arms(run(reward__mean=low))).yes is None


def test_what_the_hooks_measured_is_read_and_a_line_in_the_writing_is_not(tmp_path: Path) -> None:
    asked = questions.watched(lambda mean: mean["right"] < mean["empty"], "right", "empty")
    rows = [{"right": 0.0, "empty": 1.0}, {"right": 0.2, "empty": 1.0}]
    (tmp_path / "watch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"right": 9')
    seen = arms(run(), folders={"treated": [tmp_path]})
    assert asked(seen).yes is True
    assert asked(arms(run())).yes is None


@pytest.mark.parametrize(
    ("rows", "yes"),
    [([1.0] * 9, False), ([1.0] * 5 + [0.4] * 4, True), ([1.0] * 5 + [-1.0] * 4, True), ([1.0], None)],
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
    assert questions.weights_differ(seen).yes is False
    file.write_text(file.read_text() + row("engine", 2, "a"))
    assert questions.weights_differ(seen).yes is True


@pytest.mark.parametrize("asked", [questions.rises("score"), questions.moves("score"), questions.outruns("score")])
def test_nothing_recorded_is_an_open_question(asked: questions.Asked) -> None:
    assert asked(arms(run())).yes is None
