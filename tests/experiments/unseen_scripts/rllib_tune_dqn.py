"""DQN with RLlib under Tune."""

import argparse
import os

import ray
from ray import tune
from ray.rllib.algorithms.dqn import DQNConfig

parser = argparse.ArgumentParser()
parser.add_argument("--env", default="CartPole-v1")
parser.add_argument("--lr", type=float, default=5e-4)
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--train-batch-size", type=int, default=32)
parser.add_argument("--stop-iters", type=int, default=12)
parser.add_argument("--storage", default="ray_results")
parser.add_argument("--seed", type=int, default=0)

if __name__ == "__main__":
    args = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    config = (
        DQNConfig()
        .environment(args.env)
        .env_runners(num_env_runners=0)
        .training(lr=args.lr, gamma=args.gamma, train_batch_size_per_learner=args.train_batch_size)
        .debugging(seed=args.seed)
    )
    tune.Tuner(
        "DQN",
        param_space=config,
        run_config=tune.RunConfig(
            name="dqn_cartpole",
            storage_path=os.path.abspath(args.storage),
            stop={"training_iteration": args.stop_iters},
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
            verbose=0,
        ),
    ).fit()
    ray.shutdown()
