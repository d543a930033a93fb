"""Critics, sound and broken, and a model, by name, as a user would point at them."""

from typing import Any

import torch
from torch import nn


def sound() -> Any:
    return nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))


def dead() -> Any:
    """All ReLU units are off for every input."""
    net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))
    with torch.no_grad():
        net[0].weight.zero_()
        net[0].bias.fill_(-5.0)
    return net


class Detached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = sound()

    def forward(self, observations: Any) -> Any:
        return self.net(observations).detach()


class Blind(nn.Module):
    """Looks at one component only, which says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, observations: Any) -> Any:
        return self.net(observations[:, 2:])


class WrongShape(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 2)

    def forward(self, observations: Any) -> Any:
        return self.net(observations)


def ppo() -> Any:
    from stable_baselines3 import PPO

    return PPO("MlpPolicy", "CartPole-v1", n_steps=1024, seed=0, device="cpu", n_epochs=1)


def dqn() -> Any:
    from stable_baselines3 import DQN

    return DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu")


def pendulum() -> Any:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "Pendulum-v1", n_steps=2048, seed=0, device="cpu", n_epochs=1)
    with torch.no_grad():  # a new critic's values are nearly 0; how near depends on the weights that are drawn
        model.policy.value_net.weight.zero_()
    return model


class Cut(nn.Module):
    """The features of the trunk are detached."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.head = nn.Sequential(nn.Linear(3, 64), nn.Tanh()), nn.Linear(64, 1)

    def forward(self, observations: Any) -> Any:
        return self.head(self.trunk(observations).detach())


class HalfBlind(nn.Module):
    """Sees the first component as one of two levels."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, observations: Any) -> Any:
        return self.net(observations[:, :1].sign())
