"""entropy-runaway: more random and worse."""

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "entropy-runaway"
GROWING = np.linspace(1, 4, 120) + noise(120, 0.05)
FALLING = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)


def test_entropy_that_grows_while_the_score_falls_is_critical() -> None:
    assert found(ID, run({"policy.entropy": GROWING, "reward.mean": FALLING})).severity is Severity.CRITICAL


def test_a_late_starter_that_begins_to_explore_is_healthy() -> None:
    assert silent(ID, run({"policy.entropy": GROWING, "reward.mean": learning(120)}))


def test_the_spread_of_the_actions_counts_too() -> None:
    assert found(ID, run({"action.std": GROWING, "reward.mean": FALLING})).metric == "action.std"


def test_without_either_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": FALLING})).status is Status.NOT_MEASURED


WIDENING = np.exp(np.linspace(0, 3.5, 120)) + noise(120, 0.02)


def test_actions_that_become_noise_are_found_without_a_score() -> None:
    for curves in ({"action.std": WIDENING}, {"action.std": WIDENING, "reward.mean": noise(120)}):
        assert "bounds" in found(ID, run(curves), Severity.WARNING).message


def test_a_bonus_that_widens_gaussian_actions_is_found_where_the_score_has_stopped_to_rise() -> None:
    entropy, stopped = np.linspace(1.42, 4.8, 120) + noise(120, 0.02), learning(120)
    curves = {"policy.entropy": entropy, "reward.mean": stopped, "episode.length": np.full(120, 200.0)}
    paid = run(curves, algorithm="ppo", config={"entropy_coef": 0.5})
    assert "widens the actions beyond their bounds" in found(ID, paid, Severity.WARNING, Confidence.HIGH).message
    assert silent(ID, run(curves, algorithm="ppo", config={"entropy_coef": 0.0}))
    assert silent(ID, replace(paid, series={**paid.series, "reward.mean": series("reward.mean", np.arange(120.0))}))
    assert silent(ID, run({**curves, "policy.entropy": entropy / 4}, algorithm="ppo", config={"entropy_coef": 0.5}))


def test_noise_that_widens_while_the_score_rises_is_healthy() -> None:
    assert silent(ID, run({"action.std": WIDENING, "reward.mean": learning(120)}))


def test_a_discrete_policy_without_a_score_may_open_up() -> None:
    assert silent(ID, run({"policy.entropy": WIDENING}))


def test_text_whose_entropy_multiplies_while_the_evaluation_gains_nothing() -> None:
    late = np.clip((np.arange(120) - 50) / 30, 0, 1)
    entropy = (0.5 + 1.5 * late) * (1 + noise(120, 0.05, 1))
    curves = {"policy.entropy": entropy, "reward.mean": np.arange(120) / 120, "length.mean": np.full(120, 300.0)}
    steps = np.arange(1, 121, 6.0)
    flat, rising = (series("eval.accuracy", v + noise(20, 0.01, 2), steps) for v in (np.full(20, 0.5), steps / 200))
    finding = found(ID, replace(r := run(curves, algorithm="grpo"), series={**r.series, "eval.accuracy": flat}))
    assert "read some completions" in finding.message
    assert silent(ID, replace(r, series={**r.series, "eval.accuracy": rising}))
