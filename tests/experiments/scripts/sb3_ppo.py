import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
env = gym.make("CartPole-v1")
eval_env = Monitor(gym.make("CartPole-v1"))

model = PPO(
    "MlpPolicy",
    env,
    learning_rate=1e-3,
    n_steps=128,
    batch_size=64,
    gamma=0.99,
    tensorboard_log="./ppo_cartpole/",
    verbose=1,
    seed=0,
    device="cpu",
)
model.learn(
    total_timesteps=6_000,
    log_interval=1,
    callback=EvalCallback(
        eval_env, eval_freq=500, n_eval_episodes=5, best_model_save_path="./ppo_cartpole/", log_path="./ppo_cartpole/"
    ),
)
model.save("ppo_cartpole/final_model")
