"""PPO of Stable-Baselines3 on small tasks of control."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import PPO

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _sb3, _sb3_on_policy
from firstbreak_lab.population.faults import by_name, fault

NAME = "sb3-ppo"
FAULTS = by_name(
    (
        *_sb3_on_policy.SHARED,
        fault("no-clipping", (4, 16), "times as many epochs", whole=True),
        fault("old-log-probabilities-recomputed", (3, 10), "times as many epochs", whole=True),
    )
)
CANNOT: Mapping[Link, str] = {}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run."""
    # About 1,500 steps of the environments and 300 of the optimiser, whatever the number of rows: a run of a few seconds.
    n_envs, n_steps = 8, int(2 ** np.clip(round(np.log2(rng.uniform(900, 2000) / rows)), 2, 7))
    minibatches, n_epochs = ((1, 1), (1, 2), (1, 4), (2, 2), (2, 4), (4, 3))[
        int(np.clip(np.searchsorted((1.5, 3, 4, 6, 10), rng.uniform(200, 450) / rows), 0, 5))
    ]
    return {
        **_sb3.common(rng, ("cartpole", "grid", "patterns", "reach"), rows * n_envs * n_steps),
        "log_interval": 1,
        "n_envs": n_envs,
        "n_steps": n_steps,
        "batch_size": n_envs * n_steps // minibatches,
        "n_epochs": n_epochs,
        "learning_rate": round(float(10 ** rng.uniform(-2.7, -2.0)), 5),
        "gamma": float(rng.choice([0.95, 0.98, 0.99])),
        "gae_lambda": float(rng.choice([0.9, 0.95])),
        "ent_coef": float(rng.choice([0.0, 0.0, 0.005, 0.01])),
        "clip_range": float(rng.choice([0.1, 0.2, 0.3])),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with PPO."""
    names = ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "clip_range")
    hyperparameters = {name: settings[name] for name in names}
    return _sb3.train(PPO, settings, hyperparameters, seed, broken, out, _sb3_on_policy.wrong, _wrong)


def _wrong(model: Any, broken: BrokenMechanism) -> None:
    """The faults of PPO alone: more epochs without a limit to the ratio."""
    learn, clip, epochs = model.train, model.clip_range, model.n_epochs

    def train_wrongly() -> None:
        more = broken("no-clipping") or broken("old-log-probabilities-recomputed") or 1
        model.n_epochs = int(epochs * more)
        model.clip_range = (lambda left: 1e6) if broken("no-clipping") else clip
        learn()

    model.train = train_wrongly
    stored = model.rollout_buffer.get

    def recomputed(batch_size: int | None = None) -> Any:
        import torch

        for data in stored(batch_size):
            if not broken("old-log-probabilities-recomputed"):
                yield data
                continue
            with torch.no_grad():
                discrete = hasattr(model.action_space, "n")
                actions = data.actions.long().flatten() if discrete else data.actions
                _, log_prob, _ = model.policy.evaluate_actions(data.observations, actions)
            yield data._replace(old_log_prob=log_prob)

    model.rollout_buffer.get = recomputed
