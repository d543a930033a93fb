"""What DQN, SAC and TD3 of Stable-Baselines3 share."""

from typing import Any

import numpy as np

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism
from firstbreak_lab.population.families import _sb3
from firstbreak_lab.population.family import TrainerFault
from firstbreak_lab.population.faults import fault

SHARED: tuple[TrainerFault, ...] = (
    *_sb3.SHARED,
    fault("target-never-updated", link=Link.ADVANTAGE, accepted={Link.FRESHNESS: "an old network gives the targets"}),
    fault("buffer-too-small", (8, 64), "transitions", whole=True),
    fault("buffer-frozen"),
)


def wrong(model: Any, broken: BrokenMechanism) -> None:
    """Let the faults that they share act in the built model."""
    _break_buffer(model.replay_buffer, broken)
    _break_target(model, broken)


def _break_buffer(buffer: Any, broken: BrokenMechanism) -> None:
    """Faults of the replay buffer."""
    add, pick = buffer.add, buffer._get_samples

    def added(*arguments: Any) -> None:
        if not broken("buffer-frozen"):
            add(*arguments)

    def picked(indices: np.ndarray, env: Any = None) -> Any:
        if last := int(broken("buffer-too-small")):
            indices = (buffer.pos - 1 - indices % min(last, buffer.size())) % buffer.buffer_size
        data = pick(indices, env)
        return data._replace(dones=data.dones * 0) if broken("done-mask-ignored") else data

    buffer.add, buffer._get_samples = added, picked


def _break_target(model: Any, broken: BrokenMechanism) -> None:
    """The target network stays as it is."""
    tau, learn = model.tau, model.train

    def train_with_target(*arguments: Any, **options: Any) -> None:
        model.tau = 0.0 if broken("target-never-updated") else tau
        learn(*arguments, **options)

    model.train = train_with_target
