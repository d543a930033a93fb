"""The parts of rl-baselines3-zoo's train.py that we use: python zoo_train.py --algo ppo --env CartPole-v1 -params gamma:0.98"""

import argparse
import os
from collections import OrderedDict

import torch
import yaml
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env


class StoreDict(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        arg_dict = {}
        for arguments in values:
            key, _, value = arguments.partition(":")
            arg_dict[key] = eval(value)
        setattr(namespace, self.dest, arg_dict)


def next_folder(parent, name):
    n = 1
    while os.path.exists(os.path.join(parent, f"{name}_{n}")):
        n += 1
    return os.path.join(parent, f"{name}_{n}")


def train():
    parser = argparse.ArgumentParser()
    parser.add_argument("--algo", default="ppo", choices=["ppo"])
    parser.add_argument("--env", default="CartPole-v1", help="environment ID")
    parser.add_argument("-f", "--log-folder", default="logs", help="Log folder")
    parser.add_argument("-n", "--n-timesteps", default=-1, type=int, help="Overwrite the number of timesteps")
    parser.add_argument("--eval-freq", default=1000, type=int, help="Evaluate the agent every n steps")
    parser.add_argument("--seed", default=0, type=int, help="Random generator seed")
    parser.add_argument("-params", "--hyperparams", nargs="+", action=StoreDict, help="Overwrite hyperparameter")
    args = parser.parse_args()
    torch.set_num_threads(1)

    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "zoo_hyperparams", f"{args.algo}.yml")) as f:
        hyperparams = yaml.safe_load(f)[args.env]
    hyperparams.update(args.hyperparams or {})
    saved = OrderedDict(sorted(hyperparams.items()))
    n_envs = hyperparams.pop("n_envs")
    total = hyperparams.pop("n_timesteps")
    total = int(args.n_timesteps if args.n_timesteps > 0 else total)
    folder = next_folder(os.path.join(args.log_folder, args.algo), args.env)
    os.makedirs(os.path.join(folder, args.env))
    with open(os.path.join(folder, args.env, "config.yml"), "w") as f:
        yaml.dump(saved, f)
    with open(os.path.join(folder, args.env, "args.yml"), "w") as f:
        yaml.dump(OrderedDict(sorted(vars(args).items())), f)
    env = make_vec_env(args.env, n_envs=n_envs, seed=args.seed, monitor_dir=folder)
    policy = hyperparams.pop("policy")
    model = PPO(policy, env, seed=args.seed, verbose=1, tensorboard_log=folder, device="cpu", **hyperparams)
    evaluation = EvalCallback(
        make_vec_env(args.env, seed=args.seed + 100),
        eval_freq=max(args.eval_freq // n_envs, 1),
        best_model_save_path=folder,
        log_path=folder,
    )
    model.learn(total, callback=evaluation, log_interval=1)
    model.save(os.path.join(folder, args.env))


if __name__ == "__main__":
    train()
