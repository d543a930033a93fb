"""TD3 of Stable-Baselines3 on small tasks of control."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _sb3, _sb3_off_policy, sb3_sac
from firstbreak_lab.population.families._control import OF_ACTIONS
from firstbreak_lab.population.faults import by_name, fault

NAME = "sb3-td3"
OF_NOISE = {Link.ROLLOUT: "the noise is added there"}
FAULTS = by_name(
    (
        *_sb3_off_policy.SHARED,
        *OF_ACTIONS,
        fault("action-noise-missing", link=Link.EXPLORATION, accepted=OF_NOISE),
        fault("action-noise-too-large", (2, 10), "standard deviation", link=Link.EXPLORATION, accepted=OF_NOISE),
    )
)
CANNOT: Mapping[Link, str] = {}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run: those of SAC, with the noise and the delay of TD3."""
    settings = sb3_sac.draw(rng, rows)
    del settings["adapts"], settings["ent_coef"]
    return {**settings, "action_noise": float(rng.choice([0.1, 0.2, 0.4])), "policy_delay": int(rng.choice([1, 2]))}


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with TD3."""
    names = (
        "gamma",
        "batch_size",
        "buffer_size",
        "learning_starts",
        "train_freq",
        "gradient_steps",
        "tau",
        "policy_delay",
    )
    noise = _BrokenNoise(settings["action_noise"], broken)
    hyperparameters = {name: settings[name] for name in names} | {"action_noise": noise}
    return _sb3.train(TD3, settings, hyperparameters, seed, broken, out, _sb3_off_policy.wrong)


class _BrokenNoise(NormalActionNoise):
    """The noise of TD3, which the fault takes away or makes too large."""

    def __init__(self, size: float, broken: BrokenMechanism) -> None:
        super().__init__(np.zeros(1), np.full(1, size))
        self.size, self.broken = size, broken

    def __call__(self) -> np.ndarray:
        size = 0.0 if self.broken("action-noise-missing") else self.broken("action-noise-too-large", self.size)
        self._sigma = np.full(1, size)
        return super().__call__()
