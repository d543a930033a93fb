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


def first_break(run: Run) -> FirstBreak | None:
    return diagnose(run).first_break


LOW, HIGH = noise(0), noise(1) + 0.3
STEEP = [9, 9, 10, 12, 15, 30, 60, 200, 180, 500]
OFF = questions.is_off({"policy_ratio_mean": 1.0, "rollout_train_kl": 0.0}, tolerance=0.02)
LATE = run(length__clipped_ratio=[0.0] * 4 + [0.2] * 6, eval__reward=[0.5] * 10, reward__mean=[0.5] * 4 + [0.3] * 6)
APART, HELD = run(reward__mean=100 * noise(0), eval__reward=noise(1)), run(reward__mean=80 * LOW, eval__reward=noise(3))
GAP = questions.lies_apart_as_before("reward_mean", "eval_reward", share=0.3)
AHEAD, FAR, LEFT = run(kl__ref=noise(1) + 0.1), run(kl__ref=2.2 * noise(2)), run(kl__ref=noise(3))
OVER, UNDER = questions.lies_above("reward_mean", 0.5), questions.lies_above("reward_mean", 0.9)
BEHIND = run(reward__mean=np.where(np.arange(30) >= 20, 1.5, 1.0) + 1e-3 * np.sin(np.arange(30)))
WORSE, BETTER = run(reward__mean=noise(1)), run(reward__mean=noise(2) + np.linspace(0.02, 0.2, 12))
AT_TOP, TOLD = run(reward__mean=np.full(12, 0.9)), {"treated": {}, "control": {}}
FLAT = run(reward__mean=np.ones(30))
SEEN, FELL = run(reward__mean=[0.7] * 8), run(reward__mean=[0.0] * 9)
LOSSES = run(reward__mean=-1200 + 1000 * noise(1, 40))
STEPS, SLOWS = questions.jumps("eval_score"), questions.slows("time_rollout", 1.5)
FINITE, COLLAPSES = questions.is_not_finite("grad_norm"), questions.collapses("reward_mean")


def clipped(ratio: float, share: float) -> Arms:
    """Of an original run with ten such largest ratios and clip fractions."""
    return arms(run(), original=run(policy__ratio__max=[ratio] * 10, policy__clip_fraction=[share] * 10))


@pytest.mark.parametrize(
    ("asked", "seen", "yes"),
    [
        (questions.moves("eval_reward"), arms(run(eval__reward=noise(3, 10) - np.repeat([0.0, 0.3], 5))), True),
        (STEPS, arms(run(eval__reward=[0.4] * 4 + [0.2] * 6)), True),  # a step, wherever it lies
        (STEPS, arms(run(eval__reward=[0.4, 0.41, 0.39, 0.4, 0.2, 0.22, 0.19, 0.21, 0.2, 0.2])), True),
        (STEPS, arms(run(eval__reward=[0.4] * 10)), False),
        (STEPS, arms(run(eval__reward=[0.4] * 3)), None),
        (questions.rises("eval_reward"), arms(run(eval__reward=STEEP)), True),  # with a heavy tail
        (questions.beats("length_mean"), arms(run(length__mean=HIGH), run(length__mean=LOW)), True),  # step by step
        (questions.beats("length_mean", -1), arms(run(length__mean=HIGH), run(length__mean=LOW)), False),
        (questions.beats("length_mean"), arms(run(length__mean=HIGH)), None),
        (OFF, arms(run(policy__ratio__mean=[1, 1, 1.3]), ended=False), True),  # one point decides
        (OFF, arms(run(policy__ratio__mean=[1, 1, 1]), ended=False), None),  # and the level itself only at the end
        (OFF, arms(run(policy__ratio__mean=[1, 1, 1])), False),
        (OFF, arms(run(policy__ratio__mean=[1, 1], rollout_train__kl=[0.5, 0.4])), True),
        (OFF, arms(run()), None),
        (OVER, arms(run(reward__mean=HIGH)), True),  # levels and gaps are means
        (OVER, arms(run(reward__mean=LOW)), False),
        (questions.lies_apart("eval_reward", "reward_mean", by=0.1), arms(run(reward__mean=LOW, eval__reward=HIGH)), True),
        (questions.lies_apart("eval_reward", "reward_mean", by=0.1), arms(run(reward__mean=LOW)), None),
        (questions.lies_above("length_clipped_ratio", 0.15), arms(LATE), True),  # what sets in in the middle
        (questions.lies_below("length_clipped_ratio", 0.15), arms(LATE), False),
        (questions.lies_apart("eval_score", "reward_mean", by=0.15), arms(LATE), True),
        (GAP, arms(HELD, original=APART), True),  # a gap is measured by that of the original
        (GAP, arms(run(reward__mean=noise(2), eval__reward=noise(3)), original=APART), False),
        (GAP, arms(HELD, original=run(reward__mean=noise(0), eval__reward=100 * noise(1))), None),
        (questions.unless(OVER, UNDER), arms(SEEN), True),  # what another question explains is a no
        (questions.unless(OVER, OVER), arms(SEEN), False),
        (questions.unless(UNDER, OVER), arms(SEEN), False),
        (questions.unless(questions.lies_above("length_mean", 0), OVER), arms(SEEN), None),
        (SLOWS, arms(run(time__rollout=[0.1] * 4 + [0.2] * 6)), True),
        (SLOWS, arms(run(time__rollout=[0.1] * 8 + [0.9] + [0.1])), False),  # one slow step
        (SLOWS, arms(run(time__rollout=[0.1] * 3)), None),
        (FINITE, arms(run(grad__norm=[1.0, np.inf, 1.0])), True),
        (FINITE, arms(run(grad__norm=[1.0, 2.0])), False),
        (FINITE, arms(run()), None),
        (questions.never_clipped, clipped(3.0, 0.0), True),
        (questions.never_clipped, clipped(3.0, 0.2), False),
        (questions.never_clipped, clipped(1.1, 0.0), False),
        (questions.never_clipped, arms(run()), None),
        (questions.outruns("kl_ref"), arms(AHEAD, original=LEFT), True),
        (questions.outruns("kl_ref", by=1.0), arms(AHEAD, original=LEFT), False),  # a large lead is asked for
        (questions.outruns("kl_ref", by=1.0), arms(FAR, original=LEFT), True),
        (questions.outruns("kl_ref", -1, by=0.5), arms(LEFT, original=FAR), True),
        (questions.outruns("kl_ref", -1, by=0.5), arms(LEFT, original=AHEAD), False),
        (COLLAPSES, arms(run(reward__mean=[0.4] + [0.0] * 9), original=run(reward__mean=noise(1, 40))), True),
        (COLLAPSES, arms(run(reward__mean=noise(2, 10) - 0.04), original=run(reward__mean=noise(1, 40))), False),  # a dip
        (questions.outruns("reward_mean"), arms(BEHIND, original=FLAT, since=20), True),  # from the break on
        (questions.outruns("reward_mean"), arms(BEHIND, original=FLAT, since=0), False),  # what lies before drowns it
        (questions.outruns("reward_mean"), arms(BETTER, WORSE, AT_TOP, overrides=TOLD), True),  # than its control
        (questions.outruns("reward_mean"), arms(BETTER, original=AT_TOP), False),
        (questions.outruns("reward_mean"), arms(BETTER, original=AT_TOP, overrides=TOLD), None),
        (COLLAPSES, arms(FELL), None),
        (COLLAPSES, arms(FELL, original=run(reward__mean=[0.0] * 40)), None),
        (COLLAPSES, arms(run(reward__mean=[-1600.0] * 9), original=LOSSES), True),  # also where rewards are negative
        *((asked("score"), arms(run()), None) for asked in (questions.rises, questions.moves, questions.outruns)),
    ],
)  # fmt: skip
def test_an_answer_is_what_the_arms_show(asked: questions.Asked, seen: Arms, yes: bool | None) -> None:
    assert asked(seen).yes is yes


def test_a_rise_is_seen_in_ten_noisy_points_and_a_flat_curve_is_not_one() -> None:
    rising = noise(0, 10) + np.linspace(0, 0.2, 10)
    assert questions.rises("reward_mean")(arms(run(reward__mean=rising))).yes is True
    assert questions.falls("reward_mean")(arms(run(reward__mean=rising))).yes is False
    for asked, n in ((questions.rises, 12), (questions.moves, 10), (questions.jumps, 10)):
        flat = [asked("eval_score")(arms(run(eval__reward=noise(seed, n)))).yes for seed in range(200)]
        assert np.mean(flat) <= 0.05


def test_looking_after_every_point_finds_no_rise_in_noise() -> None:
    def ever(seed: int) -> bool:
        values = noise(seed, 64)
        asked = questions.rises("reward_mean")
        return any(asked(arms(run(reward__mean=values[:n]), ended=False)).yes for n in range(6, 65))

    assert np.mean([ever(seed) for seed in range(60)]) <= 0.1


def test_an_arm_outruns_its_original_over_the_same_steps_only() -> None:
    original = run(reward__mean=np.concatenate([noise(1, 12), np.full(50, 0.9)]))
    better = run(reward__mean=noise(2) + np.linspace(0.02, 0.2, 12))
    assert questions.outruns("reward_mean")(arms(better, original=original)).yes is True
    pairs = (arms(run(reward__mean=noise(100 + s)), original=run(reward__mean=noise(s))) for s in range(200))
    same = [questions.outruns("reward_mean")(pair).yes for pair in pairs]
    assert same.count(True) <= 10
    assert same.count(None) <= 4, "a run that did not move is not taken for one that did"


def test_what_the_hooks_measured_is_read_and_a_line_in_the_writing_is_not(tmp_path: Path) -> None:
    asked = questions.watched(lambda mean: mean["right"] < mean["empty"], "right", "empty")
    rows = [{"right": 0.0, "empty": 1.0}, {"right": 0.2, "empty": 1.0}]
    (tmp_path / "watch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"right": 9')
    seen = arms(run(), folders={"treated": [tmp_path]})
    assert asked(seen).yes is True
    assert asked(arms(run())).yes is None


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


@pytest.mark.parametrize("breaks", [(True, True, False), (False, True, False), (False, False, False)])
def test_a_break_belongs_to_the_loop_where_most_seeds_repeat_it(breaks: Sequence[bool]) -> None:
    stuck = replace(run(length__clipped_ratio=[0.9] * 40, reward__mean=noise(1, 40)), algorithm="grpo")
    sound = replace(run(length__clipped_ratio=[0.0] * 40, reward__mean=noise(1, 40)), algorithm="grpo")
    seeds = [stuck if broken else sound for broken in breaks]
    for original, yes in ((stuck, sum(breaks) > 1), (sound, None)):
        seen = Arms(runs={"treated": seeds}, folders={}, original=original, first_break=first_break)
        assert questions.breaks_again(seen).yes is yes


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
        pairs = (arms(run(eval__reward=noise(s, n)), original=run(eval__reward=noise(500 + s, 60))) for s in range(200))
        assert [question.answer(pair).yes for pair in pairs].count(True) <= 12


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


FILLING = 400 + 600 * (1 - np.exp(-np.arange(30) / 10))
DRIFTS, GROWS = questions.drifts("seen", 2.0), questions.grows("seen", 0.01)


@pytest.mark.parametrize(
    ("asked", "levels", "yes"),
    [
        (DRIFTS, [1.0] * 9, False),
        (DRIFTS, [1.0] * 5 + [0.4] * 4, True),  # by a factor
        (DRIFTS, [1.0] * 5 + [-1.0] * 4, True),  # of the sign
        (DRIFTS, [1.0], None),
        (GROWS, np.linspace(100, 200, 40), True),
        (GROWS, [*np.linspace(100, 200, 20), *[200.0] * 20], False),  # filled, and no leak
        (GROWS, FILLING, None),  # as in the first steps: with twice the points it would be told
        (GROWS, [100.0], None),
    ],
)
def test_what_the_hooks_measured_may_drift_and_grow(
    asked: questions.Asked, levels: Sequence[float], yes: bool | None, tmp_path: Path
) -> None:
    answer = asked(arms(run(), folders=written(tmp_path, "watch.jsonl", [{"seen": level} for level in levels])))
    assert answer.yes is yes
    assert answer.needed == (60 if levels is FILLING else 0)


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
    (tmp_path / "watch.jsonl").write_text('{"schedule": 0.2}\n{"optimizer": 0, "rate": 2e-7}\n')
    assert questions.rate_is(below=0.3)(seen).yes is False, "it is far down its schedule"
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
