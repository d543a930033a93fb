"""The population: draws are varied, faults act at the mechanism from their onset on, and a build is continued."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from firstbreak import plugins
from firstbreak.model import Link
from firstbreak.readers.read import read
from tests.lazy import lazy, needs

benchmarks = lazy("benchmarks")
cli = lazy("firstbreak_lab.cli")
drawn = lazy("firstbreak_lab.drawn")
build = lazy("firstbreak_lab.population.build")
draw = lazy("firstbreak_lab.population.draw")
tasks = lazy("firstbreak_lab.population.tasks")
families__control = lazy("firstbreak_lab.population.families._control")
population_family = lazy("firstbreak_lab.population.family")

pytestmark = needs("stable_baselines3")

HERE = draw.families()
CONTROL = [name for name in HERE if name.startswith(("sb3", "cleanrl", "handwritten-reinforce", "rllib"))]


def short(family: population_family.TrainerFamily) -> dict[str, Any]:
    """A very short run with an evaluation and one logger."""
    settings = next(s for i in range(50) if (s := family.draw(np.random.default_rng(i), 30))["task"] != "cartpole")
    if "total_timesteps" in settings:
        batch = settings.get("n_envs", settings.get("num_envs", 1)) * settings.get(
            "n_steps", settings.get("num_steps", 1)
        )
        settings["total_timesteps"] = 6 * batch if batch > 1 else 300
        settings |= {"log_interval": 1, "log_frequency": 8, "eval_freq": 100, "learning_starts": 50}
    else:
        settings |= {"iterations": 8, "log_every": 1, "eval_every": 2}
    logger = "csv" if family.NAME.startswith(("sb3", "rllib")) else "tensorboard"
    return settings | {"logger": logger, "monitor": False, "evaluation": True}


def trained(
    family: population_family.TrainerFamily, broken: drawn.BrokenMechanism, out: Path
) -> tuple[dict[str, Any], drawn.Trained]:
    """What a reader reads of the run, without what a clock decides, and what is true."""
    out.mkdir(parents=True)
    true = family.train(short(family), 5, broken, out)
    clocks = ("time", "sps", "sec", "fps", "throughput", "perf")
    series = {n: (s.steps.tolist(), s.values.tolist()) for n, s in read(out).series.items()}
    return {n: s for n, s in series.items() if not any(clock in n for clock in clocks)}, true


# Draws ------------------------------------------------------------------------------------------------------------------


def test_every_file_is_a_family_of_the_list_and_half_of_the_seeds_train_language_models() -> None:
    there = {module.NAME for module in plugins.modules("firstbreak_lab.population.families", "NAME").values()}
    assert there <= {*draw.FAMILIES, draw.RLLIB}
    control = sum(name.startswith(("sb3", "cleanrl", "handwritten-reinforce")) for name in draw.FAMILIES)
    assert control == len(draw.FAMILIES) / 2


@pytest.mark.parametrize("name", CONTROL)
def test_a_family_has_a_fault_of_every_link_or_says_why_not(name: str) -> None:
    family = HERE[name]
    assert {fault.link for fault in family.FAULTS.values()} == set(Link) - set(family.CANNOT)
    for key, fault in family.FAULTS.items():
        assert key == fault.name
        assert 0 < fault.severity[0] <= fault.severity[1]
        assert fault.link not in fault.accepted


# The mechanism ----------------------------------------------------------------------------------------------------------


def steps(fault: str, severity: float, onset: float = 0.0, progress: float = 1.0) -> Iterator[tuple[Any, ...]]:
    """Steps of the task with the patterns, answered at random, through the broken environment."""
    broken = drawn.BrokenMechanism(fault, severity, onset, seed=1, progress=progress)
    env = families__control.BrokenEnv(tasks.TASKS["patterns"].make(), broken, 1.0, families__control.Waits(broken))
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        seen, reward, terminated, truncated, _ = env.step(rng.integers(4))
        if terminated or truncated:
            env.reset()
        yield seen, reward, terminated, truncated


def test_faults_of_the_environment_change_what_they_say() -> None:
    rewards = {name: [step[1] for step in steps(name, 1.0)] for name in ("reward-sign-flipped", "reward-lost")}
    assert min(rewards["reward-sign-flipped"]) == -1
    assert set(rewards["reward-lost"]) == {0.0}
    assert np.isnan([step[1] for step in steps("reward-missing", 1.0)]).all()
    assert not any(step[2] or step[3] for step in steps("episodes-never-end", 1.0))
    assert np.abs([step[0] for step in steps("observations-offset", 100)]).min() > 90
    assert max(step[1] for step in steps("scale-too-large", 30.0)) == 30


def test_a_fault_does_not_act_before_its_onset() -> None:
    early = [step[1] for step in steps("scale-too-large", 30.0, onset=0.5, progress=0.4)]
    assert set(early) <= {0.0, 1.0}


@pytest.mark.trainer
@pytest.mark.parametrize("name", CONTROL)
def test_a_severity_of_0_is_the_healthy_twin_and_a_fault_is_not(name: str, tmp_path: Path) -> None:
    family = HERE[name]
    healthy, twin = trained(family, drawn.BrokenMechanism(seed=5), tmp_path / "healthy")
    silent, same = trained(family, drawn.BrokenMechanism("scale-too-large", 0.0, 0.0, 5), tmp_path / "silent")
    acting, _ = trained(family, drawn.BrokenMechanism("scale-too-large", 300.0, 0.0, 5), tmp_path / "acting")
    assert len(healthy) > 3
    assert json.dumps(silent) == json.dumps(healthy)
    assert (same.start, same.score) == (twin.start, twin.score)
    assert json.dumps(acting) != json.dumps(healthy)


@pytest.mark.trainer
def test_a_slow_worker_costs_time_and_nothing_else(tmp_path: Path) -> None:
    family = HERE["handwritten-reinforce"]
    (healthy, twin), (slow, waited) = (
        trained(family, drawn.BrokenMechanism(fault, 2.0, 0.0, 5), tmp_path / str(fault))
        for fault in (None, "rollout-worker-slow")
    )
    assert json.dumps(slow) == json.dumps(healthy)
    assert waited.score == twin.score
    settings = short(family)
    assert waited.seconds > 0.002 * settings["iterations"] * settings["steps"]


@pytest.mark.trainer
def test_a_run_that_meets_nan_is_kept_as_far_as_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution = pytest.importorskip("torch").distributions.Distribution
    monkeypatch.setattr(
        distribution, "_validate_args", True
    )  # torchrl, skrl and tensordict switch it off when imported
    family = HERE["sb3-ppo"]
    _, true = trained(family, drawn.BrokenMechanism("loss-not-finite", 1.0, 0.5, 5), tmp_path / "run")
    with (tmp_path / "run" / "progress.csv").open() as file:
        last = max(int(row["time/total_timesteps"]) for row in csv.DictReader(file))
    assert 0 < last < true.steps
    assert np.isfinite(true.score)


# Building ---------------------------------------------------------------------------------------------------------------


def pretended(seed: int, out: Path) -> population_family.PopulationLabel:
    """A run without training; seed 2 fails."""
    if seed == 2:
        raise ValueError("unlucky")
    (out / "run").mkdir(parents=True)
    (out / "run" / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    true = drawn.Trained(0.0, 1.0, 1.0, 0.5, 0.5, 1.0, 100)
    family = draw.FAMILIES[seed % len(draw.FAMILIES)]
    run = draw.DrawnRun(seed, HERE[family], {"task": "grid"}, seed)
    label = draw.labelled(run, true, true)
    (out / "label.json").write_text(json.dumps(vars(label)))
    return label


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that were made, by `pretended` and without processes."""
    seeds: list[int] = []

    def loop(jobs: list[int], processes: int, work: Any, modules: Any) -> Iterator[tuple[int, str | None, str]]:
        for seed in jobs:
            seeds.append(seed)
            try:
                yield seed, work(seed), ""
            except ValueError as error:
                yield seed, None, str(error)

    monkeypatch.setattr(build, "on_cores", loop)
    monkeypatch.setattr(build, "make", pretended)
    return seeds


def test_the_command_packs_runs_and_goes_on_where_it_stopped(asked: list[int], tmp_path: Path) -> None:
    arguments = ["population", "build", "--out", str(tmp_path), "--seeds"]
    control = [seed for seed in range(60) if draw.family_of(seed) in CONTROL]
    build.build(tmp_path, [0, 4])
    assert CliRunner().invoke(cli.command, [*arguments, "0:60"]).exit_code == 0
    assert {0, 2, 4} <= set(control) <= set(asked)
    assert Counter(asked)[0] == Counter(asked)[4] == 1
    with build.unpacked(build.packs(tmp_path)[0]) as runs:
        assert {0, 4} <= {label.seed for _, label in runs}
        assert 2 not in {label.seed for _, label in runs}
        assert all(read(run).series for run, _ in runs)
    before = len(asked)
    result = CliRunner().invoke(cli.command, [*arguments, "0:60"])
    assert asked[before:] == [2]
    assert "unlucky" in result.output
    assert {path.name for path in tmp_path.iterdir()} == {"000000.tar.xz", "000050.tar.xz"}


# Figures ----------------------------------------------------------------------------------------------------------------


def run(link: str | None, said: str | None, *, stop: bool = False, harmful: bool = True) -> Mapping[str, Any]:
    return {
        "label": {
            "family": "sb3-ppo", "link": link, "accepted": [link, "rollout"] if link else [],
            "harmful": harmful and link is not None, "cpu_seconds": 2.0,
            "start": 0.0, "score": 0.3, "twin": 0.8 if harmful else 0.4, "best": 1.0,
        },
        "answer": {"link": said, "stop": stop, "forced": said or "reward", "cause": "", "spoke": [], "blind": []},
    }  # fmt: skip


def test_the_figures_count_what_a_user_is_told() -> None:
    runs = [run("reward", "reward"), run("reward", "rollout"), run("reward", None), run("reward", None, stop=True),
            run("reward", "numerics", harmful=False), run(None, None), run(None, "reward", stop=True)]  # fmt: skip
    made = benchmarks.population.figures_of([dict(one) for one in runs])
    shares = {name: made["all"][name]["share"] for name in benchmarks.population.FIGURES}
    assert shares == {
        "found": 0.75, "right": 0.25, "accepted": 0.5, "forced": 0.75, "forced_accepted": 1.0,
        "harmless_found": 1.0, "healthy_broken": 0.5, "healthy_stopped": 0.5,
    }  # fmt: skip
    assert made["links"]["reward"]["n_harmful"] == 4
    assert made["links"]["systems"]["found"] is None
    assert made["harms"]["harm from 40%"]["n_harmful"] == 4
    assert (made["settled"]["n_harmful"], made["settled"]["n_harmless"]) == (4, 0)
    low, high = made["all"]["found"]["interval"]
    assert low < 0.75 < high
    assert "75 %" in benchmarks.population.shown(made) or "75%" in benchmarks.population.shown(made)
