"""REINFORCE with a baseline on CartPole. Device and logging by accelerate, options by click."""

import click
import gymnasium as gym
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@click.command()
@click.option("--env-id", default="CartPole-v1", show_default=True)
@click.option("--lr", type=float, default=3e-3, show_default=True, help="Adam learning rate")
@click.option("--gamma", type=float, default=0.99, show_default=True)
@click.option("--ent-coef", type=float, default=0.0, show_default=True)
@click.option("--updates", type=int, default=60, show_default=True)
@click.option("--episodes-per-update", type=int, default=8, show_default=True)
@click.option("--hidden", type=int, default=64, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--logdir", type=click.Path(), default="runs", show_default=True)
def main(env_id, lr, gamma, ent_coef, updates, episodes_per_update, hidden, seed, logdir):
    accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir=logdir)
    accelerator.init_trackers(
        "reinforce",
        config=dict(env_id=env_id, lr=lr, gamma=gamma, ent_coef=ent_coef, updates=updates, hidden=hidden, seed=seed),
    )
    set_seed(seed)
    env = gym.make(env_id)
    policy = Policy(env.observation_space.shape[0], env.action_space.n, hidden)
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
    policy, optimizer = accelerator.prepare(policy, optimizer)

    for update in range(updates):
        observations, actions, returns, lengths, totals = [], [], [], [], []
        for episode in range(episodes_per_update):
            obs, _ = env.reset(seed=seed + 1000 * update + episode)
            rewards, done = [], False
            while not done:
                with torch.no_grad():
                    dist, _ = policy(torch.as_tensor(obs))
                action = dist.sample()
                observations.append(torch.as_tensor(obs))
                actions.append(action)
                obs, reward, terminated, truncated, _ = env.step(action.item())
                rewards.append(reward)
                done = terminated or truncated
            g, discounted = 0.0, []
            for reward in reversed(rewards):
                g = reward + gamma * g
                discounted.append(g)
            returns += reversed(discounted)
            lengths.append(len(rewards))
            totals.append(sum(rewards))
        dist, values = policy(torch.stack(observations))
        target = torch.tensor(returns)
        advantage = target - values.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = -(dist.log_prob(torch.stack(actions)) * advantage).mean()
        value_loss = (values - target).pow(2).mean()
        entropy = dist.entropy().mean()
        optimizer.zero_grad()
        accelerator.backward(policy_loss + 0.5 * value_loss - ent_coef * entropy)
        grad_norm = accelerator.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
        accelerator.log(
            {
                "train/episode_return": sum(totals) / len(totals),
                "train/episode_length": sum(lengths) / len(lengths),
                "train/policy_loss": policy_loss.item(),
                "train/value_loss": value_loss.item(),
                "train/entropy": entropy.item(),
                "train/grad_norm": float(grad_norm),
                "train/lr": lr,
            },
            step=update,
        )
    accelerator.save_model(policy, f"{logdir}/reinforce/final")
    accelerator.end_training()


if __name__ == "__main__":
    main()
