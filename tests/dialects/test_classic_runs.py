"""Published runs of the classic trainers: trainer, algorithm, step axis and the curves that a diagnosis starts from."""

from pathlib import Path
from typing import Any

import pytest

from firstbreak import dialects
from firstbreak.dialects.hyperparameters import canonical_config
from firstbreak.model import Run
from firstbreak.readers.read import read

ZOO = {"reward.episode", "episode.length", "eval.reward", "eval.reward.std", "eval.episode_length"}
RLLIB = {"reward.mean", "reward.min", "reward.max", "episode.length", "progress.env_steps"}
PPO = RLLIB | {
    "kl.old", "kl.coef", "policy.entropy", "policy.loss", "value.loss", "value.explained_variance", "loss.total",
}  # fmt: skip
ACTOR_CRITIC = RLLIB | {"policy.entropy", "policy.loss", "value.loss", "value.explained_variance", "grad.norm", "lr"}

# folder -> trainer, algorithm, signals, the signal whose axis is checked and its axis, last step, last value
RUNS: dict[str, tuple[str, str | None, set[str], str, str, float, float]] = {
    "zoo-a2c-ant-v3": ("sb3", "a2c", ZOO, "eval.reward", "env_steps", 1e6, -22.4),
    "zoo-a2c-lunarlandercontinuous-v2": ("sb3", "a2c", ZOO, "eval.reward", "env_steps", 5e6, 32.4),
    "zoo-ddpg-hopperbullet-v0": ("sb3", "ddpg", ZOO, "eval.reward", "env_steps", 1e6, 631.2),
    "zoo-dqn-cartpole-v1": ("sb3", "dqn", ZOO, "eval.reward", "env_steps", 5e4, 171.1),
    "zoo-ppo-cartpole-v1": ("sb3", "ppo", ZOO, "eval.reward", "env_steps", 1e5, 500.0),
    "zoo-ppo-pong-v4": ("sb3", "ppo", ZOO, "eval.reward", "env_steps", 1e7, 21.0),
    "zoo-sac-halfcheetahbullet-v0": ("sb3", "sac", ZOO, "eval.reward", "env_steps", 1e6, 2780.0),
    "zoo-td3-mountaincarcontinuous-v0": ("sb3", "td3", ZOO, "eval.reward", "env_steps", 3e5, 93.5),
    "zoo-tqc-pandastack-v1": ("sb3", "tqc", ZOO | {"eval.success_rate"}, "eval.success_rate", "env_steps", 3e6, 0.1),
    "rllib-ppo-breakout-torch": ("rllib", "ppo", PPO, "reward.mean", "env_steps", 26_205_000, 172.8),
    "rllib-ppo-qbert-tf": ("rllib", "ppo", PPO, "kl.old", "env_steps", 23_885_000, 0.01067),
    "rllib-ppo-spaceinv-torch": ("rllib", "ppo", PPO, "policy.entropy", "env_steps", 19_660_000, 0.8889),
    "rllib-pong-m1-1k": ("rllib", "ppo", PPO, "reward.mean", "env_steps", 4_800_000, -12.67),
    "rllib-pong-m2-1k": ("rllib", "ppo", PPO, "policy.entropy", "env_steps", 4_800_000, 0.0),
    "rllib-pong-m3-1k": ("rllib", "ppo", PPO, "policy.entropy", "env_steps", 4_800_000, 1.359),
    "rllib-a2c-breakout": ("rllib", "a2c", ACTOR_CRITIC, "policy.entropy", "env_steps", 10_196_500, 288.7),
    "rllib-impala-breakout": ("rllib", "impala", ACTOR_CRITIC, "reward.mean", "env_steps", 23_164_000, 547.3),
    "rllib-pong-impala-32": ("rllib", "impala", ACTOR_CRITIC, "reward.mean", "env_steps", 6_038_500, 18.24),
    "rllib-apex-breakout": ("rllib", "apex", RLLIB | {"epsilon.min"}, "reward.mean", "env_steps", 10_318_240, 113.5),
    "rllib-sac-hc-2020": ("rllib", None, RLLIB | {"eval.reward"}, "eval.reward", "env_steps", 587_000, 9414.0),
    "pp-bipedalwalker-v2-0": ("ppo_pytorch", "ppo", {"reward.mean"}, "reward.mean", "env_steps", 3_438_000, 266.6),
    "pp-cartpole-v1-0": ("ppo_pytorch", "ppo", {"reward.mean"}, "reward.mean", "env_steps", 100_000, 362.0),
    "td3-halfcheetah": ("td3", "td3", {"eval.reward"}, "eval.reward", "row", 200, 10_530.0),
    "dopa-pong": (
        "dopamine",
        None,
        {"reward.mean@Agent=Rainbow,seed=4"},
        "reward.mean@Agent=DQN,seed=0",
        "step",
        198,
        17.46,
    ),
}


@pytest.fixture(scope="module")
def runs(shared: Path) -> dict[str, Run]:
    return {name: read(shared / "runs" / name) for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_a_published_run_is_understood(name: str, runs: dict[str, Run]) -> None:
    trainer, algorithm, known, signal, axis, last_step, last = RUNS[name]
    run = runs[name]
    assert (run.trainer, run.algorithm) == (trainer, algorithm)
    assert known <= run.series.keys()
    curve = run.series[signal]
    assert (curve.axis, curve.steps[-1]) == (axis, last_step)
    assert curve.values[-1] == pytest.approx(last, rel=0.01, abs=1e-6)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_left_unknown_is_refused_with_a_reason(name: str, runs: dict[str, Run]) -> None:
    dialect = dialects.dialects()[RUNS[name][0]]
    assert not [raw for raw in runs[name].unknown if not dialects.not_converted(raw, dialect)]


def hyperparameters(trainer: str, recorded: dict[str, Any]) -> dict[str, Any]:
    return dict(canonical_config(recorded, dialects.dialects()[trainer]).values)


def test_a_rollout_of_sb3_is_steps_times_environments() -> None:
    values = hyperparameters("sb3", {"algo": "ppo", "n_timesteps": 1e6, "n_envs": 8, "n_steps": 128, "batch_size": 256})
    assert (values["batch_size"], values["minibatch_size"], values["minibatches"]) == (1024, 256, 4)
    assert values["updates_per_batch"] == 40  # ten epochs by default


def test_one_word_of_sb3_means_two_things() -> None:
    on_policy = hyperparameters("sb3", {"algo": "a2c", "n_steps": 8, "ent_coef": 0.01})
    off_policy = hyperparameters("sb3", {"algo": "dqn", "n_steps": 3, "ent_coef": 0.01})
    assert (on_policy["n_steps"], on_policy["entropy_coef"]) == (8, 0.01)
    assert off_policy["n_step_returns"] == 3
    assert not {"n_steps", "entropy_coef"} & off_policy.keys()


@pytest.mark.parametrize(
    ("written", "observations", "rewards"),
    [(True, True, True), ("dict(norm_obs=True, norm_reward=False)", True, False), (False, False, False)],
)
def test_what_rl_zoo_normalises(written: Any, observations: bool, rewards: bool) -> None:
    values = hyperparameters("sb3", {"algo": "ppo", "normalize": written})
    assert (values["normalize_observation"], values["normalize_reward"]) == (observations, rewards)


def test_minus_one_of_rl_zoo_is_no_length() -> None:
    values = hyperparameters("sb3", {"algo": "td3", "n_timesteps": -1, "target_entropy": -1.0})
    assert "total_steps" not in values
    assert values["target_entropy"] == -1.0  # of one action dimension


@pytest.mark.parametrize(
    ("names", "method"),
    [
        ({"train/clip_fraction", "train/loss"}, "ppo"),
        ({"train/kl_divergence_loss", "train/policy_objective"}, "trpo"),
        ({"train/ent_coef", "train/actor_loss"}, "sac"),
        ({"train/actor_loss", "train/critic_loss"}, "td3"),
        ({"rollout/exploration_rate", "train/loss"}, "dqn"),
        ({"train/policy_loss", "train/value_loss"}, "a2c"),
        ({"rollout/ep_rew_mean"}, None),
    ],
)
def test_the_names_of_sb3_tell_the_algorithm(names: set[str], method: str | None) -> None:
    assert dialects.algorithm(dialects.dialects()["sb3"], names, {}) == method


def test_a_loss_without_a_policy_is_the_critics() -> None:
    sb3 = dialects.dialects()["sb3"]
    dqn = dialects.understand(["rollout/exploration_rate", "train/loss"], sb3)
    ppo = dialects.understand(["train/policy_gradient_loss", "train/loss"], sb3)
    assert dialects.understand(["train/value_loss", "train/loss"], sb3)["train/loss"].signal == "loss.total"
    assert (dqn["train/loss"].signal, ppo["train/loss"].signal) == ("value.loss", "loss.total")


def test_a_schedule_of_rllib_begins_at_its_peak() -> None:
    values = hyperparameters("rllib", {"lr": 1e-4, "lr_schedule": [[0, 7e-4], [20_000_000, 1e-12]], "vtrace": False})
    assert (values["learning_rate"], values["lr_schedule"]) == (7e-4, "linear")


def test_rllib_of_2018_counts_its_entropy_bonus_as_a_cost() -> None:
    assert hyperparameters("rllib", {"entropy_coeff": -0.01, "vtrace": True})["entropy_coef"] == 0.01


@pytest.mark.parametrize(
    ("names", "trainer"),
    [
        ({"value"}, "td3"),
        ({"value", "loss", "entropy"}, "generic"),
        ({"episode", "timestep", "reward"}, "ppo_pytorch"),
        ({"episode", "timestep", "reward", "epsilon"}, "generic"),
    ],
)
def test_plain_words_choose_a_trainer_only_where_they_are_alone(names: set[str], trainer: str) -> None:
    assert dialects.choose(names, {}) is dialects.dialects()[trainer]
