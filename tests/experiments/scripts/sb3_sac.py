"""SAC on Pendulum. Change the constants to try something."""

import gymnasium as gym
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import CheckpointCallback

TOTAL_TIMESTEPS = 2000
LEARNING_RATE = 1e-3
GAMMA = 0.99
BATCH_SIZE = 64
SEED = 1
LOG_DIR = "sac_pendulum"

torch.set_num_threads(1)
env = gym.make("Pendulum-v1", max_episode_steps=100)
model = SAC(
    "MlpPolicy",
    env,
    learning_rate=LEARNING_RATE,
    gamma=GAMMA,
    batch_size=BATCH_SIZE,
    learning_starts=200,
    train_freq=4,
    tensorboard_log=LOG_DIR,
    policy_kwargs=dict(net_arch=[32, 32]),
    seed=SEED,
    device="cpu",
)
model.learn(TOTAL_TIMESTEPS, log_interval=1, callback=CheckpointCallback(1000, LOG_DIR + "/checkpoints"))
model.save(f"{LOG_DIR}/sac_final")
