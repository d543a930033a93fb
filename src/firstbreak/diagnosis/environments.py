"""What is documented of well-known environments: what random actions score, what counts as solved, and the maximum."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firstbreak.model import Config


@dataclass(frozen=True)
class Documented:
    """An environment whose scores are known."""

    random: float  #: mean return of random actions (30 episodes)
    solved: float  #: `reward_threshold` of Gymnasium's registry (Pendulum has none: what tuned runs reach)
    enough: float  #: environment steps after which tuned runs score well above random actions


#: name without its version -> task
KNOWN = {
    "CartPole": Documented(24.5, 475.0, 40_000),
    "Acrobot": Documented(-491.0, -100.0, 100_000),
    "MountainCar": Documented(-200.0, -110.0, 120_000),
    "MountainCarContinuous": Documented(-33.0, 90.0, 50_000),
    "Pendulum": Documented(-1239.0, -150.0, 5_000),
    "LunarLander": Documented(-220.0, 200.0, 500_000),
    "LunarLanderContinuous": Documented(-220.0, 200.0, 300_000),
    "BipedalWalker": Documented(-106.0, 300.0, 2_000_000),
    # neither is registered with a threshold: what the weakest tuned method of rl-zoo reached, after as many steps as it had;
    # random play of games from Mnih et al. (2015), random actions of robots from D4RL
    "BeamRider": Documented(363.9, 2470.0, 10_000_000),
    "Breakout": Documented(1.7, 313.0, 10_000_000),
    "MsPacman": Documented(307.3, 1590.0, 10_000_000),
    "Pong": Documented(-20.7, 17.9, 10_000_000),
    "Qbert": Documented(163.9, 4000.0, 10_000_000),
    "RoadRunner": Documented(11.5, 28_400.0, 10_000_000),
    "Seaquest": Documented(68.4, 1675.0, 10_000_000),
    "SpaceInvaders": Documented(148.0, 631.0, 10_000_000),
    "HalfCheetah": Documented(-280.0, 1750.0, 1_000_000),
    "Hopper": Documented(-20.0, 715.0, 1_000_000),
    "Walker2d": Documented(1.6, 710.0, 1_000_000),
}
#: the highest return of an episode that the rules allow, by name and version
HIGHEST = {"CartPole-v0": 200.0, "CartPole-v1": 500.0, "Pong": 21.0}
#: `ALE/Pong-v5`, `PongNoFrameskip-v4` and `Pong` are one game
_NAME = re.compile(r"(?:ALE/)?(\w+?)(?:NoFrameskip|Deterministic)?(-v\d+)?")


def known(config: Config) -> Documented | None:
    """The environment of a run, where its scores are known."""
    name = _NAME.fullmatch(str(config.get("env_id") or ""))
    return KNOWN.get(name[1]) if name else None


def random(config: Config) -> float | None:
    """The mean return of random actions, where it is known."""
    task = known(config)
    return task.random if task else None


def highest(config: Config) -> float | None:
    """The largest return of an episode, where it is documented."""
    name = _NAME.fullmatch(str(config.get("env_id") or ""))
    return HIGHEST.get(name[1] + (name[2] or ""), HIGHEST.get(name[1])) if name else None
