"""The micro-lab: gradients are exact, healthy runs learn, a seed gives one run, and each fault changes its own mechanism."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from firstbreak_lab.cli import command
from firstbreak_lab.drawn import BrokenMechanism
from firstbreak_lab.micro import build, dpo, dqn, grpo, logs, population, ppo, sequences, worlds
from firstbreak_lab.micro.faults import ALL, OWN, SHARED, MicroFault, faults
from firstbreak_lab.micro.optimizer import Adam

from firstbreak.dialects import dialects, translate
from firstbreak.model import Link
from firstbreak.readers.read import read

PAIRS = [(fault, algorithm) for fault in faults().values() for algorithm in fault.where]
NAMES = [f"{fault.name}-{algorithm}" for fault, algorithm in PAIRS]


def settings(algorithm: str, seed: int = 3) -> Any:
    """Ordinary settings, with an evaluation, an engine whose difference is logged, and a log that is not too long."""
    drawn = population.ALGORITHMS[algorithm].draw(np.random.default_rng(seed), 30)
    short = {
        "grpo": {
            "steps": 40,
            "log_every": 1,
            "eval_every": 5,
            "iterations": 2,
            "engine": True,
            "beta": 0.04,
            "limit": 10,
        },
        "dpo": {"steps": 60, "log_every": 1, "eval_every": 5},
        "ppo": {"iterations": 40, "log_every": 1, "eval_every": 5},
        "dqn": {"moves": 400, "eval_every": 40, "learning_starts": 100, "log_every": 4},
    }
    rate = {"grpo": 0.06, "dpo": 0.06, "ppo": 0.01, "dqn": 0.1}[algorithm]
    return replace(drawn, lr=rate / drawn.width, **short[algorithm])


def trained(algorithm: str, broken: BrokenMechanism, seed: int = 5) -> tuple[str, population.Trained]:
    """What the log holds, as text, and what is true."""
    log, true = population.ALGORITHMS[algorithm].train(settings(algorithm), seed, broken)
    return json.dumps(log.rows), true


@cache
def untouched(algorithm: str) -> str:
    """The log of the healthy run."""
    return trained(algorithm, BrokenMechanism())[0]


# Exactness --------------------------------------------------------------------------------------------------------------


def gradient_error(loss: Callable[[np.ndarray], float], at: np.ndarray, gradient: np.ndarray) -> float:
    """The largest difference to central differences in a few directions, relative to the size of the gradient."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(5):
        direction = rng.normal(size=at.shape)
        slope = (loss(at + 1e-5 * direction) - loss(at - 1e-5 * direction)) / 2e-5
        errors.append(abs(slope - float((gradient * direction).sum())))
    return max(errors) / float(np.abs(gradient).max())


@pytest.mark.parametrize("bonus", [0.0, 0.3])
@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_the_gradient_of_grpo_is_exact(bonus: float, loss_type: str) -> None:
    s = replace(settings("grpo"), loss_type=loss_type, entropy_coef=bonus)
    task, rng = grpo.make_task(s, 0), np.random.default_rng(1)
    batch, _, _ = grpo.generate(s, task, task.base, task.base, rng, BrokenMechanism(), 0)
    at = task.base + 0.05 * rng.normal(size=task.base.shape)
    _, gradient, _ = grpo.loss_and_gradient(at, batch, s, BrokenMechanism())
    assert gradient_error(lambda w: grpo.loss_and_gradient(w, batch, s, BrokenMechanism())[0], at, gradient) < 1e-4


def test_the_gradient_of_dpo_is_exact() -> None:
    s, rng = settings("dpo"), np.random.default_rng(1)
    task = dpo.make_task(s, 0)
    pairs = dpo.make_pairs(task, task.held_out, 0.0, rng)
    at = task.base + 0.1 * rng.normal(size=task.base.shape)
    _, gradient, _ = dpo.loss_and_gradient(at, task.base, pairs, s, BrokenMechanism())
    assert (
        gradient_error(lambda w: dpo.loss_and_gradient(w, task.base, pairs, s, BrokenMechanism())[0], at, gradient)
        < 1e-4
    )


def test_the_gradient_of_ppo_is_exact() -> None:
    s, rng = replace(settings("ppo"), entropy_coef=0.05), np.random.default_rng(1)
    world = worlds.grid(rng)
    at = 0.1 * rng.normal(size=(world.features.shape[1], 5))
    fleet = worlds.Fleet(world, s.envs, rng, BrokenMechanism())
    batch = ppo.collect(s, world.features, fleet, at, at, rng, BrokenMechanism())
    at = at + 0.03 * rng.normal(size=at.shape)
    _, gradient, _ = ppo.loss_and_gradient(at, world.features, batch, s, BrokenMechanism())
    assert (
        gradient_error(lambda w: ppo.loss_and_gradient(w, world.features, batch, s, BrokenMechanism())[0], at, gradient)
        < 1e-4
    )


def test_the_gradient_of_dqn_is_exact() -> None:
    s, rng = settings("dqn"), np.random.default_rng(1)
    world = worlds.grid(rng)
    at, target = rng.normal(size=(2, world.features.shape[1], 4))
    n = 64
    states, actions = rng.integers(0, len(world.after), n), rng.integers(0, 4, n)
    batch = (states, actions, world.reward[states, actions], world.after[states, actions], np.zeros(n))
    _, gradient, _ = dqn.loss_and_gradient(at, target, world.features, batch, s, BrokenMechanism())
    loss = lambda w: dqn.loss_and_gradient(w, target, world.features, batch, s, BrokenMechanism())[0]  # noqa: E731
    assert gradient_error(loss, at, gradient) < 1e-4


def test_the_true_accuracy_is_what_sampling_gives() -> None:
    task, rng = grpo.make_task(settings("grpo"), 0), np.random.default_rng(1)
    log_p = sequences.log_policy(task.base, task.held_out.features)
    tokens = sequences.sample(log_p, rng.random((len(task.held_out), 2000, log_p.shape[1])))
    _, ended = sequences.lengths(tokens, log_p.shape[1])
    assert sequences.right(task.held_out, tokens, ended).mean() == pytest.approx(
        sequences.accuracy(task.base, task.held_out), abs=0.01
    )


@pytest.mark.parametrize("kind", [worlds.chain, worlds.grid, worlds.pole])
def test_the_true_return_is_what_episodes_give(kind: Callable[[np.random.Generator], worlds.SmallWorld]) -> None:
    rng = np.random.default_rng(2)
    world = kind(rng)
    actions = world.after.shape[1]
    greedy = rng.integers(0, actions, len(world.after))
    exact = world.expected(worlds.one_hot(greedy, actions))
    sampled = [worlds.evaluate(world, greedy, 500, rng, BrokenMechanism())[0] for _ in range(20)]
    assert np.mean(sampled) == pytest.approx(exact, abs=4 * np.std(sampled) / 20**0.5 + 1e-9)
    assert exact <= world.best() + 1e-9


# Healthy runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALL)
def test_healthy_runs_learn(algorithm: str) -> None:
    runs = [trained(algorithm, BrokenMechanism(), seed)[1] for seed in range(4)]
    assert np.mean([(run.score - run.start) / (run.best - run.start) for run in runs]) > 0.15


def test_a_seed_gives_one_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(8, tmp_path / name)
    files = [{p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.*")} for n in ("a", "b")]
    assert len(files[0]) == 2
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("algorithm", "trainer"),
    [("grpo", "trl"), ("dpo", "trl"), *((a, t) for a in ("ppo", "dqn") for t in ("sb3", "cleanrl"))],
)
def test_a_log_is_read_as_that_of_its_trainer_and_every_name_is_understood(
    algorithm: str, trainer: str, tmp_path: Path
) -> None:
    extra = {"trainer": trainer} if algorithm in ("ppo", "dqn") else {}
    log, _ = population.ALGORITHMS[algorithm].train(settings(algorithm), 5, BrokenMechanism(), **extra)
    logs.write(log.rows, trainer, tmp_path)
    run = read(tmp_path)
    assert (run.trainer, run.algorithm) == (trainer, algorithm)
    assert not run.unknown
    assert not run.damage
    assert len(run.series) >= 5
    names = {name for row in log.rows for name in row} - {"step", "seconds"}
    assert all(translate(name, dialects()[trainer]) for name in names)


# Faults -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "algorithm"), PAIRS, ids=NAMES)
def test_a_fault_changes_the_run_from_its_onset_on(fault: MicroFault, algorithm: str) -> None:
    severity = max(fault.severity) if fault.name != "updates-do-nothing" else min(fault.severity)
    severity = (
        min(fault.severity) if fault.unit.startswith(("bits", "tokens", "temperature of the engine")) else severity
    )
    onset = 0.0 if fault.from_start else 0.25
    healthy = untouched(algorithm)
    acting, silent = (
        trained(algorithm, BrokenMechanism(fault.name, size, onset, seed=5))[0] for size in (severity, 0.0)
    )
    assert silent == healthy
    assert acting != healthy
    if onset:  # what was logged before is the same
        rows = [json.loads(text) for text in (healthy, acting)]
        early = len(rows[0]) // 6
        assert json.dumps(rows[0][:early]) == json.dumps(rows[1][:early])


def test_every_link_has_a_fault_and_shared_faults_are_those_of_the_lab() -> None:
    assert {fault.link for fault in faults().values()} == set(Link)
    assert len(faults()) >= 35
    assert not set(SHARED) & set(OWN)
    for fault in faults().values():
        assert fault.link not in fault.accepted
        assert set(fault.where) <= set(ALL)
        assert 0 < fault.severity[0] <= fault.severity[1]


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("advantage-sign-flipped", "grpo"),
        ("advantage-sign-flipped", "ppo"),
        ("reward-sign-flipped", "dqn"),
        ("preference-labels-swapped", "dpo"),
    ],
)
def test_a_wrong_sign_from_the_start_makes_the_policy_worse(name: str, algorithm: str) -> None:
    healthy, wrong = (trained(algorithm, BrokenMechanism(f, 1.0))[1] for f in (None, name))
    assert wrong.score < healthy.score
    assert wrong.score < healthy.start + 0.1 * (healthy.best - healthy.start)


def test_steps_that_do_nothing_leave_the_policy_where_it_was() -> None:
    for algorithm in ("grpo", "dpo", "ppo"):
        run = trained(algorithm, BrokenMechanism("updates-do-nothing", 1e-5))[1]
        assert run.score == pytest.approx(run.start, abs=1e-3 * (run.best - run.start))


def test_a_slow_phase_changes_the_clock_alone() -> None:
    healthy, slow = (trained("ppo", BrokenMechanism(fault, 4.0))[1] for fault in (None, "rollout-worker-slow"))
    assert slow.seconds == pytest.approx(4 * healthy.seconds)
    assert replace(slow, seconds=healthy.seconds) == healthy


def test_an_overflow_is_logged_and_leaves_out_the_step() -> None:
    adam = Adam(np.ones(3), 0.1, "constant", 1.0, 1.0, BrokenMechanism("gradients-not-finite", 1e6))
    assert np.isnan(adam.step(np.ones(3)))
    assert adam.weights.tolist() == [1, 1, 1]
    assert np.isfinite(adam.step(np.full(3, 1e-3)))
    assert adam.weights.tolist() != [1, 1, 1]


# The population ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_population_is_varied_and_its_labels_agree_with_it() -> None:
    labels = [population.make(seed)[1] for seed in range(40)]
    assert {label.algorithm for label in labels} == set(ALL)
    assert 5 <= sum(label.link is None for label in labels) <= 25
    assert len({label.variant for label in labels}) > 12
    for label in labels:
        json.dumps(asdict(label))
        assert (label.onset is None) == (label.link is None)
        assert (label.link is None) == (not label.accepted)
        assert label.link is None or label.link in label.accepted
        assert label.link is not None or (label.harm == 0 and label.score == label.twin)


def test_the_command_makes_runs_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    arguments = ["micro", "--seed", "2", "--out", str(tmp_path)]
    assert CliRunner().invoke(command, [*arguments, "--runs", "1"]).exit_code == 0
    made = (tmp_path / "000002" / "label.json").stat().st_mtime_ns
    assert CliRunner().invoke(command, [*arguments, "--runs", "2"]).exit_code == 0
    assert (tmp_path / "000002" / "label.json").stat().st_mtime_ns == made
    assert (tmp_path / "000003" / "run").is_dir()
