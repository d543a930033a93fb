"""TRL's GRPOTrainer on questions with a verifiable answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _trl_online
from firstbreak_lab.population.families._text import EVERYWHERE, SAMPLING
from firstbreak_lab.population.faults import by_name

NAME = "trl-grpo"
FAULTS = by_name((*EVERYWHERE, *SAMPLING))
CANNOT: Mapping[Link, str] = {}


class BrokenGrpo(_trl_online.BrokenRollouts, GRPOTrainer):
    """GRPOTrainer with a mechanism that may be broken."""

    def old(self, inputs: Mapping[str, Tensor], logps: Tensor) -> dict[str, Tensor]:
        return {**inputs, "old_per_token_logps": logps}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a run that a user could have started."""
    return {
        **_trl_online.draw(rng, rows),
        "beta": float(rng.choice((0.0, 0.0, 0.01, 0.04))),
        "loss_type": str(rng.choice(("dapo", "dapo", "grpo", "dr_grpo", "bnpo"))),
        "scale_rewards": str(rng.choice(("group", "group", "none", "batch"))),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with GRPOTrainer."""
    return _trl_online.train(BrokenGrpo, _config, settings, seed, broken, out)


def _config(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, scratch: str) -> GRPOConfig:
    shared = _trl_online.online_arguments(settings, seed, broken, scratch)
    return GRPOConfig(**shared, loss_type=settings["loss_type"], scale_rewards=settings["scale_rewards"])
