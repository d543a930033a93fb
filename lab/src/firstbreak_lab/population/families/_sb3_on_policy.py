"""What PPO and A2C of Stable-Baselines3 share."""

from collections import deque
from typing import Any

import numpy as np
import torch

from firstbreak_lab.drawn import BrokenMechanism
from firstbreak_lab.population.families import _sb3
from firstbreak_lab.population.families._control import categorical
from firstbreak_lab.population.family import TrainerFault
from firstbreak_lab.population.faults import fault

SHARED: tuple[TrainerFault, ...] = (
    *_sb3.SHARED,
    fault("done-mask-ignored"),
    fault("temperature-not-in-logprob", (0.2, 0.7), "temperature of what acts"),
    fault("advantage-sign-flipped", (0.6, 1), "share of the advantages"),
    fault("baseline-missing", (0.7, 1), "share of the baseline"),
    fault("critic-target-wrong"),
    fault("entropy-bonus-too-strong", (0.1, 10), "coefficient"),
    fault("entropy-penalised", (0.1, 3), "coefficient"),
    fault("acts-greedily"),
    fault("rollouts-too-old", (4, 16), "updates", whole=True),
)


def wrong(model: Any, broken: BrokenMechanism) -> None:
    """Let the faults that they share act in the built model."""
    _break_policy(model.policy, broken)
    _break_returns(model, broken)
    _break_training(model, broken)


def _break_policy(policy: Any, broken: BrokenMechanism) -> None:
    """What acts is not what the log-probabilities are of."""
    forward = policy.forward

    def acting(seen: torch.Tensor, deterministic: bool = False) -> Any:
        temperature = broken("temperature-not-in-logprob")
        if broken("acts-greedily"):
            return forward(seen, deterministic=True)
        if not temperature or deterministic:
            return forward(seen, deterministic)
        _, values, _ = forward(seen)
        meant = policy.get_distribution(seen)
        if hasattr(policy.action_space, "n"):
            actions = categorical(meant.distribution.logits / temperature).sample()
        else:
            centre = meant.distribution.mean
            actions = centre + temperature * (meant.sample() - centre)
        return actions, values, meant.log_prob(actions)

    policy.forward = acting


def _break_returns(model: Any, broken: BrokenMechanism) -> None:
    """Faults of the advantages."""
    buffer = model.rollout_buffer
    honest = buffer.compute_returns_and_advantage

    def wrong(last_values: torch.Tensor, dones: np.ndarray) -> None:
        if broken("done-mask-ignored"):
            buffer.episode_starts[:], dones = 0, np.zeros_like(dones)
        if share := broken("baseline-missing"):
            buffer.values *= 1 - share
            last_values = last_values * (1 - share)
        honest(last_values, dones)
        if broken("critic-target-wrong"):
            buffer.returns = buffer.advantages.copy()
        flipped = broken.hits("advantage-sign-flipped", buffer.advantages.shape)
        if flipped is not None:
            buffer.advantages[flipped] *= -1

    buffer.compute_returns_and_advantage = wrong


def _break_training(model: Any, broken: BrokenMechanism) -> None:
    """Faults of what the update gets."""
    learn, coefficient, buffer = model.train, model.ent_coef, model.rollout_buffer
    kept: deque[dict[str, np.ndarray]] = deque(maxlen=32)
    arrays = ("observations", "actions", "log_probs", "advantages", "returns", "values")

    def train_wrongly() -> None:
        model.ent_coef = coefficient + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
        if broken.fault == "rollouts-too-old":
            kept.append({name: getattr(buffer, name).copy() for name in arrays})
            if age := int(broken("rollouts-too-old")):
                for name, old in kept[max(-len(kept), -1 - age)].items():
                    setattr(buffer, name, old.copy())
        learn()

    model.train = train_wrongly
