"""Real trainers run for seconds, and what they write is read back."""

import os
from pathlib import Path

import pytest

from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read
from tests.cluster import cluster
from tests.lazy import lazy

classic = lazy("firstbreak_lab.classic")
trainer = lazy("firstbreak_lab.classic.trainer")
trl = lazy("firstbreak_lab.trl.trainer")

pytestmark = pytest.mark.trainer


@pytest.mark.thorough
def test_trl(tmp_path: Path) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    settings = trl.TrlSettings(steps=6, warm_up_steps=5, eval_problems=8)
    settings.grpo |= {"eval_steps": 3, "per_device_train_batch_size": 16}
    trl.train(settings, tmp_path)
    run = read(tmp_path)
    assert (run.trainer, run.algorithm) == ("trl", "grpo")
    assert run.series["reward.mean"].steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.series["eval.reward"].steps.tolist() == [0, 3, 6]
    assert {"kl.ref", "policy.entropy", "grad.norm", "length.clipped_ratio"} <= set(run.series)
    assert run.config.number("max_new_tokens") == 32
    assert run.samples is not None
    assert next(iter(run.samples)).prompt.startswith("sort:")


@pytest.mark.parametrize(
    "algorithm", ["ppo", "dqn", *(pytest.param(other, marks=pytest.mark.thorough) for other in ("a2c", "sac"))]
)
def test_stable_baselines3(algorithm: str, tmp_path: Path) -> None:
    settings: classic.ClassicSettings = getattr(classic, algorithm)()
    steps = 512 if algorithm == "sac" else 2048  # SAC updates at each step
    settings.total_timesteps, settings.eval_every, settings.eval_episodes = steps, steps // 2, 2
    trainer.train(settings, tmp_path)
    run = read(tmp_path)
    assert (run.trainer, run.algorithm) == ("sb3", algorithm)
    assert run.last_step is not None
    assert run.last_step >= steps
    assert len(run.series["eval.reward"]) == 2
    assert {"return.mean", "policy.loss" if algorithm == "ppo" else "lr"} & set(run.series)


@pytest.mark.thorough
def test_rllib(tmp_path: Path) -> None:
    ppo = pytest.importorskip("ray.rllib.algorithms.ppo")
    from ray import tune

    config = ppo.PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    config = config.training(train_batch_size=128, minibatch_size=64, num_epochs=1, grad_clip=0.5)
    where = tune.RunConfig(name="exp", storage_path=str(tmp_path), stop={"training_iteration": 3}, verbose=0)
    with cluster(cpus=1):
        tune.Tuner("PPO", param_space=config, run_config=where).fit()
    (trial,) = find_runs(tmp_path / "exp")
    run = read(trial)
    assert (run.trainer, run.algorithm) == ("rllib", "ppo")
    assert {"jsonl", "csv", "tensorboard", "config_file"} == set(run.formats)
    assert {"reward.mean", "policy.entropy", "value.explained_variance", "grad.norm"} <= run.series.keys()
    assert len(run.series["reward.mean"]) == 3
    assert run.config.number("grad_clip") == 0.5
    assert len(run.unknown) < 10
    (file,) = trial.glob("result.json")
    assert read(file).series["reward.mean"].axis == "env_steps"
    (events,) = trial.glob("*tfevents*")
    assert read(events).series["reward.mean"].axis == "iteration"
