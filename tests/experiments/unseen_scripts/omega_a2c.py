"""A2C on CartPole: python omega_a2c.py --config configs/a2c.yaml optim.lr=1e-3"""

import argparse
import csv
import os

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from omegaconf import OmegaConf


def make_net(sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def train(cfg):
    os.makedirs(cfg.output_dir, exist_ok=True)
    OmegaConf.save(cfg, os.path.join(cfg.output_dir, "config.yaml"))
    torch.manual_seed(cfg.seed)
    np.random.seed(cfg.seed)
    envs = gym.make_vec(cfg.env.name, num_envs=cfg.env.num_envs, vectorization_mode="sync")
    obs_dim = envs.single_observation_space.shape[0]
    n_actions = envs.single_action_space.n
    actor = make_net([obs_dim, *cfg.model.hidden, n_actions])
    critic = make_net([obs_dim, *cfg.model.hidden, 1])
    opt = torch.optim.RMSprop([*actor.parameters(), *critic.parameters()], lr=cfg.optim.lr)

    obs, _ = envs.reset(seed=cfg.seed)
    returns = np.zeros(cfg.env.num_envs)
    finished = []
    f = open(os.path.join(cfg.output_dir, "progress.csv"), "w", newline="")
    writer = None
    frames = 0
    for it in range(cfg.train.iterations):
        logps, values, rewards, masks, ents = [], [], [], [], []
        for _ in range(cfg.train.n_steps):
            x = torch.as_tensor(obs, dtype=torch.float32)
            dist = torch.distributions.Categorical(logits=actor(x))
            action = dist.sample()
            obs, reward, term, trunc, _ = envs.step(action.numpy())
            done = np.logical_or(term, trunc)
            returns += reward
            for i in np.flatnonzero(done):
                finished.append(returns[i])
                returns[i] = 0
            logps.append(dist.log_prob(action))
            ents.append(dist.entropy())
            values.append(critic(x).squeeze(-1))
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            masks.append(torch.as_tensor(1.0 - done, dtype=torch.float32))
            frames += cfg.env.num_envs
        with torch.no_grad():
            ret = critic(torch.as_tensor(obs, dtype=torch.float32)).squeeze(-1)
        targets = []
        for r, m in zip(reversed(rewards), reversed(masks)):
            ret = r + cfg.algo.gamma * ret * m
            targets.insert(0, ret)
        targets, values = torch.stack(targets), torch.stack(values)
        adv = (targets - values).detach()
        entropy = torch.stack(ents).mean()
        pg_loss = -(torch.stack(logps) * adv).mean()
        v_loss = (targets - values).pow(2).mean()
        loss = pg_loss + cfg.algo.value_coef * v_loss - cfg.algo.entropy_coef * entropy
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], cfg.optim.max_grad_norm)
        opt.step()
        if it % 10 == 0 and finished:
            ev = 1 - (targets - values.detach()).var() / (targets.var() + 1e-8)
            row = {
                "iteration": it,
                "frames": frames,
                "episode_reward_mean": np.mean(finished[-50:]),
                "policy_loss": pg_loss.item(),
                "value_loss": v_loss.item(),
                "entropy": entropy.item(),
                "explained_variance": ev.item(),
                "grad_norm": norm.item(),
            }
            if writer is None:
                writer = csv.DictWriter(f, fieldnames=row)
                writer.writeheader()
            writer.writerow(row)
            f.flush()
    torch.save({"actor": actor.state_dict(), "critic": critic.state_dict()}, os.path.join(cfg.output_dir, "last.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True, help="yaml file")
    args, overrides = parser.parse_known_args()
    cfg = OmegaConf.merge(OmegaConf.load(args.config), OmegaConf.from_cli(overrides))
    train(cfg)
