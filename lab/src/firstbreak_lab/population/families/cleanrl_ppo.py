"""PPO as in CleanRL's ppo.py: one loop, TensorBoard, the names of CleanRL."""

import copy
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population import tasks
from firstbreak_lab.population.families import _cleanrl
from firstbreak_lab.population.families._control import (
    OF_ENVIRONMENT,
    OF_OPTIMISER,
    ParallelEnvs,
    Waits,
    break_optimiser,
    categorical,
    environments,
    learning_rate,
)
from firstbreak_lab.population.faults import by_name, fault

NAME = "cleanrl-ppo"
FAULTS = by_name(
    (
        *OF_ENVIRONMENT,
        *OF_OPTIMISER,
        fault("temperature-not-in-logprob", (0.2, 0.7), "temperature of what acts"),
        fault("advantage-sign-flipped", (0.6, 1), "share of the advantages"),
        fault("baseline-missing", (0.7, 1), "share of the baseline"),
        fault("critic-target-wrong"),
        fault("critic-not-trained"),
        fault("done-mask-ignored"),
        fault("horizon-too-short", (0.1, 0.7), "discount", from_start=True),
        fault("entropy-bonus-too-strong", (0.1, 10), "coefficient"),
        fault("entropy-penalised", (0.1, 3), "coefficient"),
        fault("acts-greedily"),
        fault("rollouts-too-old", (4, 16), "updates", whole=True),
        fault("weights-not-delivered"),
        fault("no-clipping", (4, 16), "times as many epochs", whole=True),
        fault("old-log-probabilities-recomputed", (3, 10), "times as many epochs", whole=True),
    )
)
CANNOT: Mapping[Link, str] = _cleanrl.CANNOT


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run."""
    num_envs, num_steps = 8, int(2 ** np.clip(round(np.log2(rng.uniform(900, 2000) / rows)), 2, 7))
    minibatches, epochs = ((1, 1), (1, 2), (1, 4), (2, 2), (2, 4), (4, 3))[
        int(np.clip(np.searchsorted((1.5, 3, 4, 6, 10), rng.uniform(250, 500) / rows), 0, 5))
    ]
    return {
        "task": str(rng.choice(["cartpole", "grid", "patterns"])),
        "logger": str(rng.choice(_cleanrl.LOGGERS)),
        "evaluation": False,
        "total_timesteps": rows * num_envs * num_steps,
        "num_envs": num_envs,
        "num_steps": num_steps,
        "num_minibatches": minibatches,
        "update_epochs": epochs,
        "learning_rate": round(float(10 ** rng.uniform(-2.7, -2.0)), 5),
        "anneal_lr": bool(rng.random() < 0.7),
        "gamma": float(rng.choice([0.95, 0.98, 0.99])),
        "gae_lambda": float(rng.choice([0.9, 0.95])),
        "norm_adv": bool(rng.random() < 0.8),
        "clip_coef": float(rng.choice([0.1, 0.2, 0.3])),
        "ent_coef": float(rng.choice([0.0, 0.005, 0.01])),
        "vf_coef": 0.5,
        "max_grad_norm": 0.5,
        "width": int(rng.choice([16, 32, 64])),
    }


class _Agent(nn.Module):
    def __init__(self, features: int, actions: int, width: int) -> None:
        super().__init__()

        def net(outputs: int, std: float) -> nn.Sequential:
            layers = [
                nn.Linear(features, width),
                nn.Tanh(),
                nn.Linear(width, width),
                nn.Tanh(),
                nn.Linear(width, outputs),
            ]
            for layer in layers[::2]:
                assert isinstance(layer, nn.Linear)
                nn.init.orthogonal_(layer.weight, std if layer is layers[-1] else 2**0.5)
                nn.init.zeros_(layer.bias)
            return nn.Sequential(*layers)

        self.critic, self.actor = net(1, 1.0), net(actions, 0.01)

    def act(self, seen: np.ndarray) -> np.ndarray:
        """The best actions."""
        with torch.no_grad():
            return self.actor(torch.as_tensor(seen, dtype=torch.float32)).argmax(-1).numpy()  # type: ignore[no-any-return]


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with PPO."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)
    task, waits = tasks.TASKS[settings["task"]], Waits(broken)
    envs = ParallelEnvs(environments(task, settings["num_envs"], broken, waits), seed)
    agent = _Agent(envs.seen.shape[1], envs.envs[0].action_space.n, settings["width"])
    return _cleanrl.trained(
        "ppo", settings, agent, agent.act, waits, out, lambda log: _loop(settings, envs, agent, broken, waits, log)
    )


def _loop(
    s: Mapping[str, Any],
    envs: ParallelEnvs,
    agent: _Agent,
    broken: BrokenMechanism,
    waits: Waits,
    log: _cleanrl.ScriptLog,
) -> None:
    optimizer = torch.optim.Adam(agent.parameters(), lr=s["learning_rate"], eps=1e-5)
    break_optimiser(optimizer, broken, waits, {"critic-not-trained": agent.critic.parameters()})
    batch_size = s["num_envs"] * s["num_steps"]
    iterations, global_step, began = s["total_timesteps"] // batch_size, 0, time.time()
    next_done = torch.zeros(s["num_envs"])
    kept: deque[tuple[torch.Tensor, ...]] = deque(maxlen=32)
    delivered: dict[str, Any] = {}
    for iteration in range(iterations):
        broken.progress = iteration / iterations
        rate = s["learning_rate"] * ((1.0 - iteration / iterations) if s["anneal_lr"] else 1.0)
        optimizer.param_groups[0]["lr"] = learning_rate(rate, broken)
        gamma = broken("horizon-too-short", s["gamma"])
        live = copy.deepcopy(agent.state_dict()) if broken("weights-not-delivered") else None
        if live:
            delivered = delivered or live
            agent.load_state_dict(delivered)

        rollout: list[tuple[torch.Tensor, ...]] = []
        for _ in range(s["num_steps"]):
            global_step += s["num_envs"]
            seen = torch.as_tensor(envs.seen, dtype=torch.float32).clone()
            with torch.no_grad():
                logits, value = agent.actor(seen), agent.critic(seen).flatten()
                policy = categorical(logits)
                temperature = broken("temperature-not-in-logprob", 1.0)
                acting = categorical(logits / temperature) if temperature != 1.0 else policy
                action = logits.argmax(-1) if broken("acts-greedily") else acting.sample()
                logprob = policy.log_prob(action)
            rewards, overs, episodes = envs.step(action.numpy())
            rollout.append((seen, action, logprob, value, torch.as_tensor(rewards.copy()), next_done))
            next_done = torch.as_tensor(overs.copy())
            for total, length in episodes:
                log.episode(total, length, global_step)
        if live:
            agent.load_state_dict(live)

        obs, actions, logprobs, values, rewards_, dones = (torch.stack(column) for column in zip(*rollout, strict=True))
        with torch.no_grad():
            next_value = agent.critic(torch.as_tensor(envs.seen, dtype=torch.float32)).flatten()
        baseline = 1.0 - broken("baseline-missing")
        values, next_value = values * baseline, next_value * baseline
        mask = 0.0 if broken("done-mask-ignored") else 1.0
        advantages, lastgaelam = torch.zeros_like(rewards_), torch.zeros(s["num_envs"])
        for t in reversed(range(s["num_steps"])):
            last = t == s["num_steps"] - 1
            nonterminal = 1.0 - mask * (next_done if last else dones[t + 1])
            delta = rewards_[t] + gamma * (next_value if last else values[t + 1]) * nonterminal - values[t]
            advantages[t] = lastgaelam = delta + gamma * s["gae_lambda"] * nonterminal * lastgaelam
        returns = advantages if broken("critic-target-wrong") else advantages + values
        if (flipped := broken.hits("advantage-sign-flipped", tuple(advantages.shape))) is not None:
            advantages = torch.where(torch.as_tensor(flipped), -advantages, advantages)

        batch = tuple(x.flatten(0, 1) for x in (obs, actions, logprobs, advantages, returns, values))
        kept.append(batch)
        if age := int(broken("rollouts-too-old")):
            batch = kept[max(-len(kept), -1 - age)]
        b_obs, b_actions, b_logprobs, b_advantages, b_returns, b_values = batch

        more = int(broken("no-clipping") or broken("old-log-probabilities-recomputed") or 1)
        clip = 1e6 if broken("no-clipping") else s["clip_coef"]
        size, clipfracs = batch_size // s["num_minibatches"], []
        for _ in range(s["update_epochs"] * more):
            order = torch.randperm(batch_size)
            for mb in torch.split(order, size):
                policy = categorical(agent.actor(b_obs[mb]))
                newlogprob, newvalue = policy.log_prob(b_actions[mb]), agent.critic(b_obs[mb]).flatten()
                old = newlogprob.detach() if broken("old-log-probabilities-recomputed") else b_logprobs[mb]
                logratio = newlogprob - old
                ratio = logratio.exp()
                with torch.no_grad():
                    old_approx_kl, approx_kl = (-logratio).mean(), ((ratio - 1) - logratio).mean()
                    clipfracs += [((ratio - 1.0).abs() > clip).float().mean().item()]
                adv = b_advantages[mb]
                if s["norm_adv"]:
                    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
                v_clipped = b_values[mb] + torch.clamp(newvalue - b_values[mb], -clip, clip)
                v_loss = 0.5 * torch.max((newvalue - b_returns[mb]) ** 2, (v_clipped - b_returns[mb]) ** 2).mean()
                entropy = policy.entropy().mean()
                coefficient = s["ent_coef"] + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
                loss = pg_loss - coefficient * entropy + v_loss * s["vf_coef"]
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), s["max_grad_norm"])
                optimizer.step()

        spread = float(np.var(b_returns.numpy()))
        log.scalars(
            {
                "charts/learning_rate": optimizer.param_groups[0]["lr"],
                "losses/value_loss": v_loss.item(),
                "losses/policy_loss": pg_loss.item(),
                "losses/entropy": entropy.item(),
                "losses/old_approx_kl": old_approx_kl.item(),
                "losses/approx_kl": approx_kl.item(),
                "losses/clipfrac": float(np.mean(clipfracs)),
                "losses/explained_variance": 1 - float(np.var((b_returns - b_values).numpy())) / spread
                if spread
                else np.nan,
                "charts/SPS": int(global_step / (time.time() - began)),
            },
            global_step,
        )
