"""A2C of Stable-Baselines3 on small tasks of control."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import A2C

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _sb3, _sb3_on_policy
from firstbreak_lab.population.faults import by_name

NAME = "sb3-a2c"
FAULTS = by_name(_sb3_on_policy.SHARED)
CANNOT: Mapping[Link, str] = {}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run."""
    n_envs, n_steps = 8, int(rng.choice([5, 8]))
    log_interval = max(1, round(float(rng.uniform(200, 350)) / rows))
    return {
        **_sb3.common(rng, ("cartpole", "grid", "patterns", "patterns"), rows * log_interval * n_envs * n_steps),
        "log_interval": log_interval,
        "n_envs": n_envs,
        "n_steps": n_steps,
        "learning_rate": round(float(10 ** rng.uniform(-2.3, -1.8)), 5),
        "gamma": float(rng.choice([0.95, 0.98, 0.99])),
        "gae_lambda": float(rng.choice([0.9, 0.95, 1.0])),
        "ent_coef": float(rng.choice([0.0, 0.0, 0.005, 0.01])),
        "use_rms_prop": bool(rng.random() < 0.5),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with A2C."""
    names = ("n_steps", "gamma", "gae_lambda", "ent_coef", "use_rms_prop")
    return _sb3.train(A2C, settings, {name: settings[name] for name in names}, seed, broken, out, _sb3_on_policy.wrong)
