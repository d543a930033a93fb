"""TRL's RLOOTrainer on questions with a verifiable answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from trl import RLOOConfig, RLOOTrainer

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population.families import _trl_online
from firstbreak_lab.population.families._text import EVERYWHERE, SAMPLING, without
from firstbreak_lab.population.faults import by_name

NAME = "trl-rloo"
# Advantages are not divided by their spread, so that a tiny one stays tiny.
FAULTS = by_name((*EVERYWHERE, *without(SAMPLING, "tiny-spread-amplified")))
CANNOT: Mapping[Link, str] = {}


class BrokenRloo(_trl_online.BrokenRollouts, RLOOTrainer):
    """RLOOTrainer with a mechanism that may be broken."""

    def old(self, inputs: Mapping[str, Tensor], logps: Tensor) -> dict[str, Tensor]:
        return {**inputs, "old_logps": (logps * inputs["completion_mask"]).sum(1)}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a run that a user could have started."""
    return {**_trl_online.draw(rng, rows), "beta": float(rng.choice((0.0, 0.01, 0.05, 0.05)))}


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with RLOOTrainer."""
    return _trl_online.train(BrokenRloo, _config, settings, seed, broken, out)


def _config(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, scratch: str) -> RLOOConfig:
    return RLOOConfig(**_trl_online.online_arguments(settings, seed, broken, scratch))
