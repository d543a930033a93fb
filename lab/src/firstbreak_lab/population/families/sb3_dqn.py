"""DQN of Stable-Baselines3 on small tasks of control."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import DQN

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _sb3, _sb3_off_policy
from firstbreak_lab.population.faults import by_name, fault

NAME = "sb3-dqn"
FAULTS = by_name(
    (
        *_sb3_off_policy.SHARED,
        fault("done-mask-ignored"),
        fault("epsilon-zero", from_start=True),
        fault("epsilon-never-falls", (0.6, 1), "epsilon", from_start=True),
    )
)
CANNOT: Mapping[Link, str] = {}
LENGTH = {"grid": 9, "patterns": 5}  #: mean steps of an episode while it is learned


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run. A row is logged every few episodes, so that their number is not exact.

    CartPole is left out: DQN needs ten times as many steps for it.
    """
    settings = _sb3.common(rng, ("grid", "patterns"), int(rng.integers(1800, 3200)))
    train_freq = int(rng.choice([4, 8]))
    return {
        **settings,
        "log_interval": max(1, round(settings["total_timesteps"] / LENGTH[settings["task"]] / rows)),
        "learning_rate": round(float(10 ** rng.uniform(-2.8, -2.1)), 5),
        "gamma": float(rng.choice([0.9, 0.95, 0.98])),
        "batch_size": int(rng.choice([32, 64, 128])),
        "buffer_size": int(rng.choice([2000, 10_000])),
        "learning_starts": int(rng.choice([50, 100])),
        "train_freq": train_freq,
        "gradient_steps": train_freq // 4,
        "target_update_interval": int(rng.choice([30, 60, 120])),
        "exploration_fraction": round(float(rng.uniform(0.2, 0.6)), 2),
        "exploration_final_eps": float(rng.choice([0.02, 0.05, 0.1])),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with DQN."""
    names = ("gamma", "batch_size", "buffer_size", "learning_starts", "train_freq", "gradient_steps",
             "target_update_interval", "exploration_fraction", "exploration_final_eps")  # fmt: skip
    hyperparameters = {name: settings[name] for name in names}
    return _sb3.train(DQN, settings, hyperparameters, seed, broken, out, _sb3_off_policy.wrong, _wrong)


def _wrong(model: Any, broken: BrokenMechanism) -> None:
    """The faults of DQN alone: its schedule of epsilon."""
    planned = model.exploration_schedule

    def schedule(left: float) -> float:
        if broken("epsilon-zero"):
            return 0.0
        return max(float(planned(left)), broken("epsilon-never-falls"))

    model.exploration_schedule = schedule
