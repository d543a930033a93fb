import argparse
import os

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor


def parse():
    p = argparse.ArgumentParser(description="DQN on CartPole")
    p.add_argument("--save-dir", default="results/dqn", help="where everything goes")
    p.add_argument("--steps", type=int, default=5000, help="environment steps to train")
    p.add_argument("--lr", type=float, default=1e-3, help="learning rate")
    p.add_argument("--discount", type=float, default=0.99)
    p.add_argument("-b", "--batch", type=int, default=64, help="batch size")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--eval-every", type=int, default=500)
    return p.parse_args()


if __name__ == "__main__":
    args = parse()
    torch.set_num_threads(1)
    np.random.seed(args.seed)
    os.makedirs(args.save_dir, exist_ok=True)
    model = DQN(
        "MlpPolicy",
        Monitor(gym.make("CartPole-v1")),
        learning_rate=args.lr,
        gamma=args.discount,
        batch_size=args.batch,
        buffer_size=8000,
        learning_starts=500,
        target_update_interval=250,
        train_freq=4,
        gradient_steps=1,
        exploration_fraction=0.3,
        seed=args.seed,
        device="cpu",
    )
    model.set_logger(configure(args.save_dir, ["stdout", "csv"]))
    evaluation = EvalCallback(
        Monitor(gym.make("CartPole-v1")),
        eval_freq=args.eval_every,
        n_eval_episodes=5,
        log_path=args.save_dir,
        best_model_save_path=args.save_dir,
    )
    model.learn(args.steps, callback=evaluation, log_interval=4)
    model.save(os.path.join(args.save_dir, "final_model"))
