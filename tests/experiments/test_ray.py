"""A real Ray cluster of this machine, started once: trials on it, a worker that is killed included, and RLlib under the guard."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from firstbreak.compare.survey import survey
from firstbreak.experiments import ray as on_cluster
from firstbreak.experiments import supervisor
from firstbreak.experiments.runner import Result, stored
from firstbreak.live.guard import guard as guarding
from firstbreak.live.guard.adapters import rllib
from tests.cluster import cluster
from tests.experiments.test_runner import gone, parent, pid_of, trial
from tests.lazy import lazy, needs
from tests.waiting import until

ppo = lazy("ray.rllib.algorithms.ppo")

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"), needs("ray"), pytest.mark.slow]


@pytest.fixture(scope="module")
def execute() -> Iterator[Callable[..., list[Result]]]:
    with cluster(cpus=2):
        yield on_cluster.on_ray("auto")


def test_trials_come_back_in_order_and_are_not_run_again(execute: Callable[..., list[Result]], tmp_path: Path) -> None:
    trials = [trial(tmp_path, 0.1, f"treated-{i}") for i in range(2)]
    first = execute(trials, retries=0, stop=lambda: False, report=lambda result: None)
    assert [(r.trial, r.state) for r in first] == [(t.name, "finished") for t in trials]
    assert execute(trials, retries=0, stop=lambda: False, report=lambda result: None) == first


@pytest.mark.thorough
def test_a_killed_worker_loses_only_its_trial_which_is_run_again(
    execute: Callable[..., list[Result]], tmp_path: Path
) -> None:
    short, long = trial(tmp_path, 0.0, "control-0"), trial(tmp_path, tmp_path / "begun", "treated-0")
    killed: list[int] = []

    def kill() -> None:
        assert until(lambda: len(supervisor.marked(long.mark)) == 4 and (tmp_path / "begun").exists())
        killed.extend(supervisor.marked(long.mark))
        os.kill(parent(pid_of("supervisor", 0, long)), signal.SIGKILL)  # the worker

    killer = threading.Thread(target=kill)
    killer.start()
    results = execute([short, long], retries=0, stop=lambda: False, report=lambda result: None)
    killer.join()
    assert [r.state for r in results] == ["finished", "finished"]
    assert len(killed) == 4
    assert until(lambda: all(map(gone, killed))), "an orphan is left"
    assert stored(long) == results[1]


@pytest.mark.thorough
def test_a_trial_that_fails_on_a_cluster_says_so(execute: Callable[..., list[Result]], tmp_path: Path) -> None:
    wrong = replace(trial(tmp_path), arguments=(sys.executable, "-S", "-c", "raise SystemExit(3)"))
    (result,) = execute([wrong], retries=1, stop=lambda: False, report=lambda result: None)
    assert (result.state, result.exit_code) == ("failed", 3)


def test_a_worker_without_the_drivers_disk_sends_its_folder_back(tmp_path: Path) -> None:
    short = trial(tmp_path / "elsewhere", 0.0)
    short = replace(short, directory=str(tmp_path))
    result, archive = on_cluster._work(short)
    assert result.state == "finished"
    assert archive is not None
    assert not short.folder.exists()

    class Ray:
        exceptions = pytest.importorskip("ray").exceptions

        @staticmethod
        def get(ready: object) -> object:
            return ready

    assert on_cluster._received(Ray, (result, archive), short) == result
    assert (short.folder / "metrics.jsonl").exists()


@pytest.mark.thorough
def test_a_survey_runs_on_the_cluster_as_well(execute: Callable[..., list[Result]], tmp_path: Path) -> None:
    for i in range(3):
        folder = tmp_path / "runs" / f"run-{i}"
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("".join(f'{{"step": {k}, "reward": {k / 40}}}\n' for k in range(40)))
    on_cores = survey([tmp_path / "runs"], store=tmp_path / "cores.jsonl")
    assert survey([tmp_path / "runs"], store=tmp_path / "ray.jsonl", ray_address="auto") == on_cores
    assert len(on_cores) == 3


@pytest.mark.usefixtures("execute")
def test_results_of_rllib_are_read_and_a_stop_ends_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its learner in this process."""
    monkeypatch.setattr(guarding, "WRITING", 600.0)
    guard = guarding.Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    config = ppo.PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    config = config.training(train_batch_size=128, minibatch_size=64, num_epochs=1, grad_clip=0.5)
    training = config.callbacks(**rllib.callbacks(guard)).build_algo()
    try:
        assert not training.train()["done"]
        (optimizer,) = training.learner_group._learner._named_optimizers.values()
        assert len(optimizer._optimizer_step_pre_hooks) == 1
        guard.stop("seen enough")
        assert training.train()["done"]
    finally:
        training.stop()
    assert guard.decision.bundle is not None
    run = guard.run()
    assert (run.trainer, run.algorithm) == ("rllib", "ppo")
    assert {"reward.mean", "policy.entropy"} <= set(run.series)
    assert run.config.number("grad_clip") == 0.5
