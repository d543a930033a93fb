"""Vanilla policy gradient, written after Spinning Up; writes progress.txt."""

import argparse
import json
import os

import gymnasium as gym
import numpy as np
import torch
from torch.distributions import Categorical


def mlp(sizes, activation=torch.nn.Tanh):
    layers = []
    for j in range(len(sizes) - 1):
        layers += [torch.nn.Linear(sizes[j], sizes[j + 1]), activation() if j < len(sizes) - 2 else torch.nn.Identity()]
    return torch.nn.Sequential(*layers)


def vpg(env_fn, ac_kwargs=dict(), seed=0, steps_per_epoch=1000, epochs=40, gamma=0.99, pi_lr=3e-3, vf_lr=1e-2,
        train_v_iters=20, max_ep_len=500, logger_kwargs=dict(), save_freq=10):
    os.makedirs(logger_kwargs["output_dir"], exist_ok=True)
    hyper = dict(ac_kwargs=ac_kwargs, seed=seed, steps_per_epoch=steps_per_epoch, epochs=epochs, gamma=gamma,
                 pi_lr=pi_lr, vf_lr=vf_lr, train_v_iters=train_v_iters, max_ep_len=max_ep_len)
    with open(os.path.join(logger_kwargs["output_dir"], "config.json"), "w") as f:
        json.dump(hyper, f, indent=4)
    progress = open(os.path.join(logger_kwargs["output_dir"], "progress.txt"), "w")
    torch.manual_seed(seed)
    np.random.seed(seed)
    env = env_fn()
    pi = mlp([env.observation_space.shape[0], *ac_kwargs["hidden_sizes"], env.action_space.n])
    v = mlp([env.observation_space.shape[0], *ac_kwargs["hidden_sizes"], 1])
    pi_opt = torch.optim.Adam(pi.parameters(), lr=pi_lr)
    vf_opt = torch.optim.Adam(v.parameters(), lr=vf_lr)
    o, _ = env.reset(seed=seed)
    for epoch in range(epochs):
        obs, act, rtg, ep_rets, ep_lens, rews = [], [], [], [], [], []
        for t in range(steps_per_epoch):
            x = torch.as_tensor(o, dtype=torch.float32)
            with torch.no_grad():
                a = Categorical(logits=pi(x)).sample().item()
            obs.append(x)
            act.append(a)
            o, r, terminated, truncated, _ = env.step(a)
            rews.append(r)
            if terminated or truncated or len(rews) == max_ep_len or t == steps_per_epoch - 1:
                if terminated or truncated:
                    ep_rets.append(sum(rews))
                    ep_lens.append(len(rews))
                g, out = 0.0, []
                for reward in reversed(rews):
                    g = reward + gamma * g
                    out.append(g)
                rtg += reversed(out)
                rews = []
                o, _ = env.reset()
        obs, act, ret = torch.stack(obs), torch.tensor(act), torch.tensor(rtg, dtype=torch.float32)
        adv = ret - v(obs).squeeze(-1).detach()
        adv = (adv - adv.mean()) / adv.std()
        dist = Categorical(logits=pi(obs))
        logp_old = dist.log_prob(act)
        loss_pi = -(logp_old * adv).mean()
        pi_opt.zero_grad()
        loss_pi.backward()
        pi_opt.step()
        with torch.no_grad():
            after = Categorical(logits=pi(obs))
            kl = (logp_old - after.log_prob(act)).mean().item()
        for _ in range(train_v_iters):
            vf_opt.zero_grad()
            loss_v = ((v(obs).squeeze(-1) - ret) ** 2).mean()
            loss_v.backward()
            vf_opt.step()
        row = {
            "Epoch": epoch, "AverageEpRet": np.mean(ep_rets), "StdEpRet": np.std(ep_rets), "MaxEpRet": np.max(ep_rets),
            "MinEpRet": np.min(ep_rets), "EpLen": np.mean(ep_lens), "TotalEnvInteracts": (epoch + 1) * steps_per_epoch,
            "LossPi": loss_pi.item(), "LossV": loss_v.item(), "KL": kl, "Entropy": dist.entropy().mean().item(),
        }
        if epoch == 0:
            progress.write("\t".join(row) + "\n")
        progress.write("\t".join(map(str, row.values())) + "\n")
        progress.flush()
        if epoch % save_freq == 0 or epoch == epochs - 1:
            os.makedirs(os.path.join(logger_kwargs["output_dir"], "pyt_save"), exist_ok=True)
            torch.save(pi, os.path.join(logger_kwargs["output_dir"], "pyt_save", "model.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", type=str, default="CartPole-v1")
    parser.add_argument("--hid", type=int, default=64)
    parser.add_argument("--l", type=int, default=2)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--pi_lr", type=float, default=1e-2)
    parser.add_argument("--seed", "-s", type=int, default=0)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--exp_name", type=str, default="vpg")
    args = parser.parse_args()
    vpg(lambda: gym.make(args.env), ac_kwargs=dict(hidden_sizes=[args.hid] * args.l), gamma=args.gamma, seed=args.seed,
        steps_per_epoch=args.steps, epochs=args.epochs, pi_lr=args.pi_lr,
        logger_kwargs=dict(output_dir=os.path.join("data", args.exp_name, f"{args.exp_name}_s{args.seed}")))
