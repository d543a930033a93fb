"""DQN as in CleanRL's dqn.py: one loop, TensorBoard, the names of CleanRL."""

import copy
import time
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
    environments,
    learning_rate,
)
from firstbreak_lab.population.faults import by_name, fault

NAME = "cleanrl-dqn"
FAULTS = by_name(
    (
        *OF_ENVIRONMENT,
        *OF_OPTIMISER,
        fault("critic-target-wrong"),
        fault("done-mask-ignored"),
        fault("horizon-too-short", (0.1, 0.7), "discount", from_start=True),
        fault(
            "target-never-updated", link=Link.ADVANTAGE, accepted={Link.FRESHNESS: "an old network gives the targets"}
        ),
        fault("epsilon-zero", from_start=True),
        fault("epsilon-never-falls", (0.6, 1), "epsilon", from_start=True),
        fault("buffer-too-small", (8, 64), "transitions", whole=True),
        fault("buffer-frozen"),
        fault("weights-not-delivered"),
    )
)
CANNOT: Mapping[Link, str] = _cleanrl.CANNOT


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run. The losses are logged every `log_frequency` steps; CleanRL has 100."""
    steps = int(rng.integers(2500, 4500))
    return {
        "task": str(rng.choice(["grid", "patterns"])),
        "logger": str(rng.choice(_cleanrl.LOGGERS)),
        "evaluation": False,
        "log_epsilon": bool(rng.random() < 0.5),
        "total_timesteps": steps,
        "log_frequency": max(4, round(steps / rows / 4) * 4),
        "learning_rate": round(float(10 ** rng.uniform(-2.8, -2.1)), 5),
        "buffer_size": int(rng.choice([2000, 10_000])),
        "gamma": float(rng.choice([0.9, 0.95, 0.98])),
        "target_network_frequency": int(rng.choice([40, 80, 160])),
        "batch_size": int(rng.choice([32, 64, 128])),
        "start_e": 1.0,
        "end_e": float(rng.choice([0.02, 0.05, 0.1])),
        "exploration_fraction": round(float(rng.uniform(0.2, 0.6)), 2),
        "learning_starts": int(rng.choice([50, 100])),
        "train_frequency": 4,
        "width": int(rng.choice([16, 32, 64])),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with DQN."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    task, waits = tasks.TASKS[settings["task"]], Waits(broken)
    envs = ParallelEnvs(environments(task, 1, broken, waits), seed)
    width = settings["width"]
    network = nn.Sequential(
        nn.Linear(envs.seen.shape[1], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, int(envs.envs[0].action_space.n)),
    )  # fmt: skip

    def act(seen: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.as_tensor(seen, dtype=torch.float32)).argmax(-1).numpy()  # type: ignore[no-any-return]

    return _cleanrl.trained(
        "dqn", settings, network, act, waits, out, lambda log: _loop(settings, seed, envs, network, broken, waits, log)
    )


def _loop(
    s: Mapping[str, Any],
    seed: int,
    envs: ParallelEnvs,
    q_network: nn.Module,
    broken: BrokenMechanism,
    waits: Waits,
    log: _cleanrl.ScriptLog,
) -> None:
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(q_network.parameters(), lr=s["learning_rate"])
    break_optimiser(optimizer, broken, waits)
    target_network, acting = copy.deepcopy(q_network), copy.deepcopy(q_network)
    size, actions_n, began = s["buffer_size"], int(envs.envs[0].action_space.n), time.time()
    obs, next_obs = np.zeros((2, size, envs.seen.shape[1]), np.float32)
    actions, rewards, dones = np.zeros(size, np.int64), np.zeros(size, np.float32), np.zeros(size, np.float32)
    added = 0
    for global_step in range(s["total_timesteps"]):
        broken.progress = global_step / s["total_timesteps"]
        share = min(1.0, global_step / (s["exploration_fraction"] * s["total_timesteps"]))
        epsilon = max(s["start_e"] + share * (s["end_e"] - s["start_e"]), broken("epsilon-never-falls"))
        epsilon = 0.0 if broken("epsilon-zero") else epsilon
        if not broken("weights-not-delivered"):
            acting.load_state_dict(q_network.state_dict())
        seen = envs.seen.astype(np.float32)
        if rng.random() < epsilon:
            action = rng.integers(actions_n, size=1)
        else:
            with torch.no_grad():
                action = acting(torch.as_tensor(seen)).argmax(-1).numpy()
        reward, overs, episodes = envs.step(action)
        for total, length in episodes:
            log.episode(total, length, global_step)
        if not broken("buffer-frozen"):
            i = added % size
            # As in CleanRL, the observation after an end is not used: the end masks it.
            obs[i], next_obs[i], actions[i], rewards[i] = seen[0], envs.seen[0], action[0], reward[0]
            dones[i] = overs[0]
            added += 1
        if global_step <= s["learning_starts"]:
            continue
        if global_step % s["train_frequency"] == 0:
            within = min(added, size)
            last = int(min(broken("buffer-too-small", within), within))
            data = (added - 1 - rng.integers(last, size=s["batch_size"])) % size
            gamma = broken("horizon-too-short", s["gamma"])
            mask = 0.0 if broken("done-mask-ignored") else 1.0
            with torch.no_grad():
                best = target_network(torch.as_tensor(next_obs[data])).max(1).values
                target = torch.as_tensor(rewards[data]) + gamma * best * (1 - mask * torch.as_tensor(dones[data]))
                if broken("critic-target-wrong"):  # the value of the state before it
                    target = gamma * target_network(torch.as_tensor(obs[data])).max(1).values
            old_val = (
                q_network(torch.as_tensor(obs[data])).gather(1, torch.as_tensor(actions[data])[:, None]).squeeze(1)
            )
            loss = nn.functional.mse_loss(target, old_val)
            optimizer.param_groups[0]["lr"] = learning_rate(s["learning_rate"], broken)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if global_step % s["log_frequency"] == 0:
                speed = int(global_step / (time.time() - began))
                numbers = {"losses/td_loss": loss.item(), "losses/q_values": old_val.mean().item(), "charts/SPS": speed}
                log.scalars(numbers | ({"charts/epsilon": epsilon} if s["log_epsilon"] else {}), global_step)
        if global_step % s["target_network_frequency"] == 0 and not broken("target-never-updated"):
            target_network.load_state_dict(q_network.state_dict())
