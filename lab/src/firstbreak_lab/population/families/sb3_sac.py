"""SAC of Stable-Baselines3 on small tasks of control."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import SAC

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _sb3, _sb3_off_policy
from firstbreak_lab.population.families._control import OF_ACTIONS
from firstbreak_lab.population.faults import by_name, fault
from firstbreak_lab.population.tasks import TASKS

NAME = "sb3-sac"
FAULTS = by_name(
    (
        *_sb3_off_policy.SHARED,
        *OF_ACTIONS,
        fault("acts-greedily"),
        fault(
            "target-entropy-wrong",
            (2, 10),
            "added to the target entropy",
            link=Link.EXPLORATION,
            accepted={Link.POLICY_UPDATE: "the coefficient stands in the loss of the policy"},
            needs="adapts",
        ),
        fault("entropy-bonus-too-strong", (2, 30), "coefficient"),
    )
)
CANNOT: Mapping[Link, str] = {}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run. A row is logged every few episodes."""
    settings = _sb3.common(rng, ("reach", "reach", "balance"), 0)
    length = TASKS[settings["task"]].limit
    log_interval = 1 if rows * length > 900 else int(rng.choice([1, 2]))
    steps = int(np.clip(rows * length * log_interval, 900, 2400))
    adapts = bool(rng.random() < 0.6)
    return {
        **settings,
        "total_timesteps": steps,
        "eval_freq": steps // int(rng.integers(8, 25)),
        "log_interval": log_interval,
        "learning_rate": round(float(10 ** rng.uniform(-2.6, -2.0)), 5),
        "gamma": float(rng.choice([0.9, 0.95, 0.98])),
        "batch_size": int(rng.choice([32, 64, 128])),
        "buffer_size": int(rng.choice([2000, 10_000])),
        "learning_starts": int(rng.choice([100, 200])),
        "train_freq": (every := int(np.clip(round(steps / rng.uniform(200, 350)), 2, 8))),
        "gradient_steps": 1,
        "tau": float(rng.choice([0.01, 0.02, 0.05])) if every > 3 else 0.01,
        "adapts": adapts,
        "ent_coef": "auto" if adapts else float(rng.choice([0.01, 0.05])),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with SAC."""
    names = ("gamma", "batch_size", "buffer_size", "learning_starts", "train_freq", "gradient_steps", "tau", "ent_coef")
    hyperparameters = {name: settings[name] for name in names}
    return _sb3.train(SAC, settings, hyperparameters, seed, broken, out, _sb3_off_policy.wrong, _wrong)


def _wrong(model: Any, broken: BrokenMechanism) -> None:
    """The faults of SAC alone: how much it tries."""
    target, learn = model.target_entropy, model.train

    def train_wrongly(*arguments: Any, **options: Any) -> None:
        model.target_entropy = target + broken("target-entropy-wrong")
        if bonus := broken("entropy-bonus-too-strong"):
            model.ent_coef_optimizer = None  # as with a coefficient that is fixed
            model.ent_coef_tensor = model.actor.log_std.weight.new_tensor(bonus)
        learn(*arguments, **options)

    act = model.policy._predict

    def acting(seen: Any, deterministic: bool = False) -> Any:
        return act(seen, deterministic or bool(broken("acts-greedily")))

    model.train, model.policy._predict = train_wrongly, acting
