"""Stable-Baselines3 for real: an injected fault is stopped, stored, replayed, and trained on from before it."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from firstbreak.live.guard import bundle
from firstbreak.live.guard.adapters import sb3
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.guard import Guard
from firstbreak.live.guard.replay import replay
from tests.lazy import lazy

gymnasium = lazy("gymnasium")
stable_baselines3 = lazy("stable_baselines3")
callbacks = lazy("stable_baselines3.common.callbacks")
env_util = lazy("stable_baselines3.common.env_util")

pytestmark = pytest.mark.trainer


@cache
def broken() -> Any:
    class Broken(gymnasium.Wrapper):
        """Pays NaN from some step on."""

        def __init__(self, env: gymnasium.Env, after: float) -> None:
            super().__init__(env)
            self.after, self.steps = after, 0

        def step(self, action: Any) -> Any:
            observation, reward, *rest = self.env.step(action)
            self.steps += 1
            return observation, math.nan if self.steps > self.after else reward, *rest

    return Broken


def model(after: float = math.inf, **options: Any) -> stable_baselines3.PPO:
    env = env_util.make_vec_env(lambda: broken()(gymnasium.make("CartPole-v1"), after), 2, seed=0)
    return stable_baselines3.PPO(
        "MlpPolicy", env, seed=0, device="cpu", n_steps=64, batch_size=32, n_epochs=2, **options
    )


@cache
def request() -> Any:
    class Request(callbacks.BaseCallback):
        """Asks for a stop in mid-run."""

        def __init__(self, guard: Guard, at: int) -> None:
            super().__init__()
            self.guard, self.at = guard, at

        def _on_step(self) -> bool:
            if self.num_timesteps == self.at:
                self.guard.stop("seen enough")
            return True

    return Request


def test_from_the_fault_to_training_on(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    saving = callbacks.CheckpointCallback(100, str(tmp_path / "saved"))
    ppo = model(after=400)
    with guard:
        ppo.learn(5_000, callback=[saving, sb3.callback(guard, checkpoints=tmp_path / "saved")])

    decision = guard.decision
    assert decision.act is Act.ROLLBACK
    assert ppo.num_timesteps < 1_100, "rewards are NaN from environment step 800 on"
    assert all(p.isfinite().all() for p in ppo.policy.parameters()), "no broken update was applied"

    assert decision.bundle is not None
    manifest = bundle.read(decision.bundle)
    assert manifest["exact"]
    assert manifest["lost"] == {}
    again = replay(decision.bundle, model())
    assert {one.name for one in again} >= {"grad.norm", "train/loss", "train/value_loss"}
    assert all(one.equal for one in again)

    assert decision.rollback is not None
    assert decision.rollback.step <= 800
    resumed = stable_baselines3.PPO.load(decision.rollback.path, env=model().env)
    resumed.learn(256, reset_num_timesteps=False)
    assert resumed.num_timesteps >= decision.rollback.step + 256


def test_an_update_of_ordinary_numbers_comes_out_the_same(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    model().learn(2_000, callback=[request()(guard, 300), sb3.callback(guard)])
    assert guard.decision.bundle is not None
    again = {one.name: one for one in replay(guard.decision.bundle, model())}
    assert all(one.equal for one in again.values()), again
    assert again["train/value_loss"].then > 0
    assert stable_baselines3.PPO.load(guard.decision.bundle / "model.zip").num_timesteps > 300


@pytest.mark.thorough
def test_what_the_library_logs_is_what_the_guard_sees(tmp_path: Path) -> None:
    guard = Guard(folder=tmp_path, on_decision=lambda d: None)
    model(target_kl=0.5).learn(1_024, callback=sb3.callback(guard))
    run = guard.run()
    assert (run.trainer, run.algorithm) == ("sb3", "ppo")
    assert {"reward.mean", "kl.old.k3", "policy.entropy", "value.explained_variance"} <= set(run.series)
    assert run.config.get("n_steps") == 64
    assert run.config.number("target_kl") == 0.5


def test_a_target_of_the_guard_ends_the_epochs_inside_the_library(tmp_path: Path) -> None:
    for policy, epochs in (("skip-update", 1), ("observe", 2)):
        ppo = model(learning_rate=0.05)
        ppo.learn(
            128, callback=sb3.callback(Guard(policy, target_kl=0.001, folder=tmp_path, on_decision=lambda d: None))
        )
        assert ppo._n_updates == epochs


@pytest.mark.thorough
def test_the_learning_rate_is_halved_where_the_clip_cuts_most_of_the_batch(tmp_path: Path) -> None:
    ppo = model(clip_range=1e-6, learning_rate=1e-3)
    ppo.learn(128 * 8, callback=sb3.callback(Guard("skip-update", folder=tmp_path, on_decision=lambda d: None)))
    assert ppo.policy.optimizer.param_groups[0]["lr"] == pytest.approx(5e-4)


def test_an_off_policy_run_is_stopped_too(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    env = env_util.make_vec_env(lambda: broken()(gymnasium.make("CartPole-v1"), 300), 1, seed=0)
    dqn = stable_baselines3.DQN("MlpPolicy", env, seed=0, device="cpu", learning_starts=100, train_freq=4)
    dqn.learn(3_000, callback=sb3.callback(guard), log_interval=1)
    assert guard.decision.stop
    assert dqn.num_timesteps < 500
    assert guard.decision.bundle is not None
    assert "model.zip" in bundle.read(guard.decision.bundle)["files"]
