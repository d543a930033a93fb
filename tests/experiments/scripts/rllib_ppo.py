import argparse
import json
import os

import ray
from ray.rllib.algorithms.ppo import PPOConfig

parser = argparse.ArgumentParser()
parser.add_argument("--logdir", default="rllib_results")
parser.add_argument("--stop-iters", type=int, default=12)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--seed", type=int, default=0)

if __name__ == "__main__":
    args = parser.parse_args()
    os.makedirs(args.logdir, exist_ok=True)
    ray.init(num_cpus=1, include_dashboard=False, logging_level="error")
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(lr=args.lr, gamma=args.gamma, train_batch_size=500, minibatch_size=64, num_epochs=5)
        .evaluation(evaluation_interval=2, evaluation_duration=5)
        .debugging(seed=args.seed)
    )
    algo = config.build_algo()
    results = open(os.path.join(args.logdir, "result.json"), "w")
    for i in range(args.stop_iters):
        result = algo.train()
        print(json.dumps(result, default=str), file=results, flush=True)
        print(i + 1, json.dumps(result["env_runners"].get("episode_return_mean")))
    algo.save(os.path.abspath(os.path.join(args.logdir, "checkpoint_final")))
    ray.shutdown()
