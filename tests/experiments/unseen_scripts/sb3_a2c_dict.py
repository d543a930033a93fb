import os

import gymnasium as gym
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure

hyperparams = {
    "learning_rate": 7e-4,
    "n_steps": 16,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "ent_coef": 0.0,
    "vf_coef": 0.5,
    "policy_kwargs": {"net_arch": [64, 64]},
}
TOTAL_TIMESTEPS = 12_000
save_dir = "./a2c_results"

if __name__ == "__main__":
    os.makedirs(save_dir, exist_ok=True)
    env = make_vec_env("CartPole-v1", n_envs=4, seed=7)
    model = A2C("MlpPolicy", env, seed=7, device="cpu", **hyperparams)
    model.set_logger(configure(save_dir, ["csv", "stdout"]))
    callbacks = [
        EvalCallback(gym.make("CartPole-v1"), eval_freq=500, n_eval_episodes=5, best_model_save_path=save_dir, log_path=save_dir),
        CheckpointCallback(save_freq=2500, save_path=save_dir),
    ]
    model.learn(TOTAL_TIMESTEPS, callback=callbacks, log_interval=20)
    model.save(os.path.join(save_dir, "final_model"))
