"""REINFORCE in a plain PyTorch loop, with JSONL under names that a user would choose."""

import copy
import json
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
from firstbreak_lab.population.families._cleanrl import finite
from firstbreak_lab.population.families._control import (
    CRASHES,
    OF_ENVIRONMENT,
    OF_EVALUATION,
    OF_OPTIMISER,
    EvaluationEnv,
    ParallelEnvs,
    Waits,
    break_optimiser,
    categorical,
    environments,
    learning_rate,
)
from firstbreak_lab.population.faults import by_name, fault

NAME = "handwritten-reinforce"
FAULTS = by_name(
    (
        *OF_ENVIRONMENT,
        *OF_EVALUATION,
        *OF_OPTIMISER,
        fault("temperature-not-in-logprob", (0.2, 0.7), "temperature of what acts"),
        fault("advantage-sign-flipped", (0.6, 1), "share of the advantages"),
        fault("baseline-missing", (0.7, 1), "share of the baseline", needs="baseline"),
        fault("horizon-too-short", (0.1, 0.7), "discount", from_start=True),
        fault("done-mask-ignored"),
        fault("entropy-bonus-too-strong", (0.1, 10), "coefficient"),
        fault("entropy-penalised", (0.1, 3), "coefficient"),
        fault("acts-greedily"),
        fault("rollouts-too-old", (4, 16), "updates", whole=True),
        fault("weights-not-delivered"),
    )
)
CANNOT: Mapping[Link, str] = {}

#: quantity -> names of which a run has one
NAMES: Mapping[str, tuple[str, ...]] = {
    "step": ("iter", "step", "update", "iteration"),
    "return": ("avg_return", "train_return", "mean_reward", "reward", "ep_reward"),
    "length": ("ep_len", "avg_length", "episode_length", "steps_per_ep"),
    "loss": ("pg_loss", "policy_loss", "loss", "actor_loss"),
    "entropy": ("entropy", "policy_entropy", "H", "ent"),
    "gradient": ("grad_norm", "gnorm", "grad_norm_before_clip"),
    "rate": ("lr", "learning_rate"),
    "baseline": ("baseline", "running_return"),
    "spread": ("adv_std", "advantage_std"),
    "evaluation": ("val_return", "eval_return", "test_reward", "eval/return"),
    "speed": ("sec_per_iter", "time_s", "iter_time"),
    "env_steps": ("env_steps", "frames", "total_steps"),
}
ALWAYS = ("step", "return", "loss", "evaluation")  #: the others are logged by some


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run."""
    log_every = max(1, round(float(rng.uniform(100, 200)) / rows))
    logged = {key: str(rng.choice(names)) for key, names in NAMES.items() if key in ALWAYS or rng.random() < 0.55}
    evaluation = bool(rng.random() < 0.7)
    return {
        "task": str(rng.choice(["cartpole", "grid", "patterns", "patterns"])),
        "iterations": rows * log_every,
        "log_every": log_every,
        "evaluation": evaluation,
        "eval_every": max(1, round(rows * log_every / int(rng.integers(8, 25)) / log_every)) * log_every,
        "eval_episodes": int(rng.choice([5, 10])),
        "names": logged,
        "envs": 8,
        "steps": int(rng.choice([12, 20])),
        "lr": round(float(10 ** rng.uniform(-2.3, -1.7)), 5),
        "decays": bool(rng.random() < 0.5),
        "gamma": float(rng.choice([0.95, 0.98, 0.99])),
        "baseline": bool(rng.random() < 0.8),
        "entropy_coef": float(rng.choice([0.0, 0.005, 0.01])),
        "clip_norm": float(rng.choice([0.5, 1.0, 10.0])),
        "hidden": int(rng.choice([16, 32, 64])),
        "config": bool(rng.random() < 0.4),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with REINFORCE."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    task, waits = tasks.TASKS[settings["task"]], Waits(broken)
    envs = ParallelEnvs(environments(task, settings["envs"], broken, waits), seed)
    actions, hidden = int(envs.envs[0].action_space.n), settings["hidden"]
    policy = nn.Sequential(nn.Linear(envs.seen.shape[1], hidden), nn.Tanh(), nn.Linear(hidden, actions))
    start = tasks.score(_best(policy), task)
    out.mkdir(parents=True, exist_ok=True)
    if settings["config"]:
        shown = {name: settings[name] for name in ("task", "lr", "gamma", "entropy_coef", "envs", "steps", "clip_norm")}
        (out / "config.json").write_text(json.dumps(shown | {"algo": "reinforce", "seed": seed}, indent=2))
    evaluated: dict[str, Any] = {"reported": float("nan"), "policy": None}
    began = time.process_time()
    with (out / "metrics.jsonl").open("w") as file:
        try:
            for row in _rows(settings, task, envs, policy, broken, waits, evaluated, seed):
                file.write(json.dumps(row) + "\n")
        except CRASHES:  # of NaN: a run that a user finds stopped
            pass
    return Trained(
        start=start,
        score=tasks.score(_best(finite(policy)), task),
        best=task.best,
        reported=evaluated["reported"],
        claimed=tasks.score(_best(finite(evaluated["policy"])), task) if evaluated["policy"] else float("nan"),
        seconds=time.process_time() - began + waits.seconds,
        steps=settings["iterations"],
    )


def _best(policy: nn.Module) -> tasks.Act:
    def act(seen: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return policy(torch.as_tensor(seen, dtype=torch.float32)).argmax(-1).numpy()  # type: ignore[no-any-return]

    return act


def _rows(
    s: Mapping[str, Any],
    task: tasks.ControlTask,
    envs: ParallelEnvs,
    policy: nn.Module,
    broken: BrokenMechanism,
    waits: Waits,
    evaluated: dict[str, Any],
    seed: int,
) -> Any:
    """Train, and yield the rows of the log."""
    optimiser = torch.optim.Adam(policy.parameters(), s["lr"])
    break_optimiser(optimiser, broken, waits)
    acting, tested = copy.deepcopy(policy), copy.deepcopy(policy)
    running, finished = 0.0, deque[tuple[float, int]](maxlen=20)
    kept: deque[tuple[torch.Tensor, ...]] = deque(maxlen=32)
    for i in range(s["iterations"]):
        clock = time.perf_counter()
        broken.progress = i / s["iterations"]
        rate = s["lr"] * (1 - i / s["iterations"] if s["decays"] else 1.0)
        optimiser.param_groups[0]["lr"] = learning_rate(rate, broken)
        if not broken("weights-not-delivered"):
            acting.load_state_dict(policy.state_dict())
        steps: list[tuple[torch.Tensor, torch.Tensor]] = []
        rewards, overs = [], []
        for _ in range(s["steps"]):
            now = torch.as_tensor(envs.seen, dtype=torch.float32).clone()
            with torch.no_grad():
                logits = acting(now) / broken("temperature-not-in-logprob", 1.0)
            action = categorical(logits).sample()
            if broken("acts-greedily"):
                action = logits.argmax(-1)
            reward, over, episodes = envs.step(action.numpy())
            finished.extend(episodes)
            steps.append((now, action))
            rewards.append(reward.copy())
            overs.append(over * (0.0 if broken("done-mask-ignored") else 1.0))
        returns = np.zeros((s["steps"], s["envs"]), np.float32)
        later, gamma = (
            np.full(s["envs"], running if s["baseline"] else 0.0, np.float32),
            broken("horizon-too-short", s["gamma"]),
        )
        for t in reversed(range(s["steps"])):
            later = rewards[t] + gamma * (1 - overs[t]) * later
            returns[t] = later
        advantages = torch.as_tensor(returns - running * (1 - broken("baseline-missing")) * s["baseline"])
        running = 0.9 * running + 0.1 * float(returns.mean())
        if (flipped := broken.hits("advantage-sign-flipped", returns.shape)) is not None:
            advantages = torch.where(torch.as_tensor(flipped), -advantages, advantages)
        seen, actions = (torch.stack(column).flatten(0, 1) for column in zip(*steps, strict=True))
        kept.append((seen, actions, advantages.flatten()))
        old_seen, old_actions, old_advantages = kept[max(-len(kept), -1 - int(broken("rollouts-too-old")))]
        chosen = categorical(policy(old_seen))
        entropy = chosen.entropy().mean()
        weight = old_advantages / (old_advantages.std() + 1e-6)
        coefficient = s["entropy_coef"] + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
        loss = -(chosen.log_prob(old_actions) * weight).mean() - coefficient * entropy
        optimiser.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(policy.parameters(), s["clip_norm"])
        optimiser.step()
        numbers = {
            "loss": loss.item(),
            "entropy": entropy.item(),
            "gradient": float(norm),
            "rate": optimiser.param_groups[0]["lr"],
            "baseline": running,
            "spread": float(advantages.std()),
            "speed": time.perf_counter() - clock,
            "env_steps": (i + 1) * s["envs"] * s["steps"],
        }
        if finished:
            numbers |= {
                "return": float(np.mean([r for r, _ in finished])),
                "length": float(np.mean([n for _, n in finished])),
            }
        if s["evaluation"] and (i + 1) % s["eval_every"] == 0:
            if not broken("stale-weights"):
                tested.load_state_dict(policy.state_dict())
            numbers["evaluation"] = evaluated["reported"] = _evaluate(
                tested, task, s["eval_episodes"], broken, seed + i
            )
            evaluated["policy"] = copy.deepcopy(policy)
        if (i + 1) % s["log_every"] == 0:
            named = {s["names"][key]: value for key, value in numbers.items() if key in s["names"]}
            yield {s["names"]["step"]: i + 1, **named}


def _evaluate(policy: nn.Module, task: tasks.ControlTask, episodes: int, broken: BrokenMechanism, seed: int) -> float:
    """Mean return of the best actions in episodes of its own."""
    act, totals = _best(policy), []
    envs = ParallelEnvs([lambda: EvaluationEnv(task.make(), broken)] * episodes, 50_000 + seed)
    left = set(range(episodes))
    while left:
        before = envs.returns.copy()
        rewards, overs, _ = envs.step(act(envs.seen))
        for i in [i for i in left if overs[i]]:
            totals.append(float(before[i] + rewards[i]))
            left.remove(i)
    return float(np.mean(totals))
