"""A user's training script: Stable-Baselines3's PPO balances a pole. Its discount is a slip: 0.3, not 0.99.

Another one, where it is asked for, sets in late: the learning rate is raised in the last part of the training.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gymnasium
import torch
import yaml
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor

parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path, required=True)
parser.add_argument("--total_timesteps", type=int, default=16_000)
parser.add_argument("--eval_freq", type=int, default=800)
parser.add_argument("--save_freq", type=int, default=100_000)
parser.add_argument("--limit", type=int, default=500)
parser.add_argument("--learning_rate", type=float, default=1e-3)
parser.add_argument("--gamma", type=float, default=0.3)
parser.add_argument("--last_part", type=float, default=0.0)
parser.add_argument("--last_factor", type=float, default=1.0)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--init")
parser.add_argument("--count_afresh", action="store_true")
options = parser.parse_args()

torch.set_num_threads(1)
options.out.mkdir(parents=True, exist_ok=True)


def rate(remaining: float) -> float:
    """The learning rate for the share of the training that is left."""
    return options.learning_rate * (options.last_factor if remaining < options.last_part else 1.0)


def pole() -> Monitor:
    return Monitor(gymnasium.make("CartPole-v1", max_episode_steps=options.limit))


if options.init:
    model = PPO.load(options.init, env=pole(), device="cpu")  # as scripts mostly do: the options are left behind
else:
    model = PPO(
        "MlpPolicy",
        pole(),
        learning_rate=rate,
        n_steps=128,
        batch_size=64,
        n_epochs=10,
        gamma=options.gamma,
        seed=options.seed,
        device="cpu",
    )
model.set_logger(configure(str(options.out), ["csv"]))
config = {
    "algo": "ppo",
    "env": "CartPole-v1",
    "seed": options.seed,
    "n_timesteps": options.total_timesteps,
    "n_envs": 1,
}
config |= {
    "n_steps": 128,
    "batch_size": 64,
    "n_epochs": 10,
    "learning_rate": options.learning_rate,
    "gamma": options.gamma,
}
(options.out / "config.yml").write_text(yaml.safe_dump(config))
held_out = pole()
held_out.reset(seed=options.seed)
evaluation = EvalCallback(
    held_out, n_eval_episodes=5, eval_freq=options.eval_freq, log_path=str(options.out), verbose=0
)
model.learn(
    options.total_timesteps,
    callback=[evaluation, CheckpointCallback(options.save_freq, str(options.out))],
    reset_num_timesteps=options.count_afresh or not options.init,
)
model.logger.close()
