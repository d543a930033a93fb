"""A score is called what an experienced reader would call it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.curves import SCORES, score

from firstbreak.engine.stats.shape import Trajectory, trajectory

LOST = {"declining", "peaked", "collapsed"}


@pytest.mark.slow
@pytest.mark.parametrize("story", SCORES)
@pytest.mark.parametrize("n", [50, 3000, pytest.param(300, marks=pytest.mark.thorough)])
def test_each_story_is_told(story: str, n: int) -> None:
    rng = np.random.default_rng(n)
    kinds = [trajectory(score(rng, n, story, 15.0, 0.3)).kind for _ in range(25)]
    assert np.mean([kind in SCORES[story] for kind in kinds]) >= 0.72


@pytest.mark.slow
@pytest.mark.parametrize("story", ["never moves", "rises steadily", "saturates", "saturates, last point bad"])
@pytest.mark.parametrize("n", [8, 40, 200, pytest.param(15, marks=pytest.mark.thorough)])
def test_a_healthy_score_is_rarely_called_lost(story: str, n: int) -> None:
    rng = np.random.default_rng(n)
    kinds = [trajectory(score(rng, n, story, 10.0, 0.3)).kind for _ in range(60)]
    assert sum(kind in LOST for kind in kinds) <= 6


def test_the_numbers_of_a_peak() -> None:
    rng = np.random.default_rng(0)
    shape = np.concatenate([np.linspace(0, 100, 300), np.linspace(100, 40, 300)])
    t = trajectory(shape + 3 * rng.normal(size=600))
    assert t.kind == "peaked"
    assert t.learned
    assert t.lost
    assert t.best == pytest.approx(97, abs=5)
    assert t.best_step == pytest.approx(300, abs=30)
    assert t.start == pytest.approx(4, abs=4)
    assert t.end == pytest.approx(42, abs=5)
    assert t.drop_fraction == pytest.approx(0.6, abs=0.08)
    assert t.drop_interval[0] < 56 < t.drop_interval[1]
    assert t.drop_sigma > 5
    assert t.noise == pytest.approx(3, rel=0.25)


def test_a_plateau_reached_at_once_is_learning_and_a_flat_line_is_not() -> None:
    rng = np.random.default_rng(1)
    early = np.concatenate([[10, 60], np.full(98, 100)]) + 2 * rng.normal(size=100)
    assert trajectory(early).kind == "plateau"
    assert trajectory(np.full(100, 100) + 2 * rng.normal(size=100)).kind == "flat"


def test_a_dip_that_recovers_is_no_decline() -> None:
    rng = np.random.default_rng(2)
    values = 100 * (1 - np.exp(-np.arange(200) / 15)) + 3 * rng.normal(size=200)
    values[120:140] -= 70
    assert trajectory(values).kind == "plateau"


@pytest.mark.parametrize("n", [12, 30, 100, 500])
def test_one_bad_last_point_is_no_collapse_and_three_are(n: int) -> None:
    rng = np.random.default_rng(n)
    values = 100 * (1 - np.exp(-np.arange(n) / (n / 10))) + 2 * rng.normal(size=n)
    values[-1] = 0
    assert trajectory(values).kind in ("plateau", "rising")
    if n <= 30:
        values[-3:] = [3, 0, 2]
        assert trajectory(values).lost


def test_few_evaluations_are_judged_by_the_spread_of_their_episodes() -> None:
    values = np.array([130.0, 190, 500, 100, 170])
    assert trajectory(values).kind == "flat"
    assert trajectory(values, sd=np.full(5, 10.0)).kind == "collapsed"
    assert trajectory(values, sd=np.full(5, 300.0)).kind == "flat"


def test_a_single_bad_last_evaluation_counts_only_if_it_is_huge() -> None:
    sd = np.full(6, 10.0)
    assert trajectory(np.array([100.0, 300, 480, 500, 500, 400]), sd=sd).kind == "plateau"
    assert trajectory(np.array([100.0, 300, 480, 500, 500, 20]), sd=sd).kind == "collapsed"


def test_rare_successes_count() -> None:
    rng = np.random.default_rng(4)
    successes = (rng.random(3000) < np.linspace(0.0, 0.3, 3000)).astype(float)
    t = trajectory(successes)
    assert t.kind == "rising"
    assert t.end == pytest.approx(0.29, abs=0.08)


def test_wild_points_move_no_level() -> None:
    rng = np.random.default_rng(5)
    values = 100 * (1 - np.exp(-np.arange(300) / 30)) + 2 * rng.normal(size=300)
    values[[50, 180, 290]] = -1e6
    t = trajectory(values)
    assert t.kind == "plateau"
    assert t.end == pytest.approx(100, abs=3)


def evaluations(path: Path) -> Trajectory:
    results = np.load(path)["results"]
    return trajectory(results.mean(axis=1), results.std(axis=1, ddof=1) / np.sqrt(results.shape[1]))


def column(path: Path, name: str, skip: int = 0) -> Trajectory:
    with path.open(newline="") as file:
        for _ in range(skip):
            next(file)
        cells = [row[name] for row in csv.DictReader(file)]
    return trajectory(np.array([float(cell) if cell else np.nan for cell in cells]))


def test_published_curves_are_read_as_an_expert_reads_them(shared: Path) -> None:
    runs = shared / "runs"
    zoo = {name: evaluations(runs / f"zoo-{name}" / "evaluations.npz") for name in (
        "ppo-pong-v4", "ppo-cartpole-v1", "a2c-ant-v3", "a2c-lunarlandercontinuous-v2", "dqn-cartpole-v1",
        "tqc-pandastack-v1", "td3-mountaincarcontinuous-v0",
    )}  # fmt: skip
    assert {name: t.kind for name, t in zoo.items()} == {
        "ppo-pong-v4": "plateau",
        "ppo-cartpole-v1": "plateau",
        "a2c-ant-v3": "collapsed",
        "a2c-lunarlandercontinuous-v2": "peaked",
        "dqn-cartpole-v1": "collapsed",
        "tqc-pandastack-v1": "flat",
        "td3-mountaincarcontinuous-v0": "plateau",
    }
    reward = {name: column(runs / f"rllib-{name}" / "progress.csv", "episode_reward_mean").kind for name in (
        "ppo-qbert-tf", "ppo-spaceinv-torch", "a2c-breakout", "pong-m2-1k", "pong-m3-1k", "sac-hc-2020",
    )}  # fmt: skip
    assert reward == {
        "ppo-qbert-tf": "rising",
        "ppo-spaceinv-torch": "rising",
        "a2c-breakout": "plateau",
        "pong-m2-1k": "flat",
        "pong-m3-1k": "rising",
        "sac-hc-2020": "rising",
    }
    language = {name: column(runs / f"uns-{name}" / "progress_table.csv", "reward").kind for name in (
        "phi4", "qwen3-8b-fp8", "gptoss20b", "2048", "gemma3-1b",
    )}  # fmt: skip
    assert set(language.values()) == {"flat"}
    assert column(runs / "uns-adv-llama32-3b" / "progress_table.csv", "reward").learned
    assert column(runs / "zoo-a2c-lunarlandercontinuous-v2" / "0.monitor.csv", "r", skip=1).kind == "peaked"


def test_agents_on_one_game_differ(shared: Path) -> None:
    entries = json.loads((shared / "runs" / "dopa-asterix" / "asterix.json").read_text())

    def agent(name: str) -> Trajectory:
        rows = [(entry["Iteration"], entry["Value"]) for entry in entries if entry["Agent"] == name]
        by_step: dict[int, list[float]] = {}
        for step, value in rows:
            by_step.setdefault(step, []).append(value)
        return trajectory(np.array([np.mean(by_step[step]) for step in sorted(by_step)]))

    assert agent("Rainbow").kind == "rising"
    assert agent("DQN").kind == "peaked"


def test_a_high_point_whose_episodes_are_known_is_where_to_go_back_to() -> None:
    values = np.array([410.0, 365, 399, 500, 500, 170, 9, 9, 9, 9, 9, 35, 33])
    known = np.array([57.0, 70, 29, 0, 0, 4, 1, 1, 1, 1, 1, 3, 2])
    told = trajectory(values, sd=known)
    assert told.best == pytest.approx(500)
    assert told.best_step == 3
    assert told.lost


def test_scores_that_are_mostly_zero_stray_rarely_and_far() -> None:
    assert trajectory(np.array([0, 0.019, 0, 0, 0, 0, 0.026, 0, 0, 0, 0, 0.009, 0, 0, 0, 0, 0])).kind == "flat"
