"""What is documented of well-known environments: what random actions score, what counts as solved, and the maximum."""

import re

from firstbreak.model import Config
from firstbreak.values import dataclass


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
#: returns that a normalised score of D4RL counts as 0 and as 100 (d4rl/infos.py), by the beginning of the data set's name
D4RL = {"halfcheetah": (-280.178953, 12135.0), "hopper": (-20.272305, 3234.3)}
D4RL |= {"walker2d": (1.629008, 4592.3), "ant": (-325.6, 3879.7)}
#: the highest return of an episode that the rules allow, by name and version
HIGHEST = {"CartPole-v0": 200.0, "CartPole-v1": 500.0, "Pong": 21.0}
#: what each step of an episode pays, whatever the policy does
PAID = {"CartPole": 1.0, "MountainCar": -1.0}
#: `ALE/Pong-v5`, `PongNoFrameskip-v4` and `Pong` are one game
_NAME = re.compile(r"(?P<ale>ALE/)?(?P<name>\w+?)(?P<atari>NoFrameskip|Deterministic)?(?P<version>-v\d+)?")


@dataclass(frozen=True)
class EnvironmentTask:
    """An environment, as its identifier names it."""

    name: str  #: without version and wrapping: "Pong" of "ALE/Pong-v5" and of "PongNoFrameskip-v4"
    version: str  #: "-v5", or nothing
    atari: bool  #: one of the games of the Arcade Learning Environment, as the identifier shows


def task(env_id: str) -> EnvironmentTask | None:
    """What an identifier names; None for what is no identifier of Gymnasium's kind."""
    found = _NAME.fullmatch(env_id)
    return found and EnvironmentTask(found["name"], found["version"] or "", bool(found["ale"] or found["atari"]))


def of(config: Config) -> EnvironmentTask | None:
    """The environment that a run names."""
    return task(str(config.get("env_id") or ""))


def known(config: Config) -> Documented | None:
    """The environment of a run, where its scores are known."""
    named = of(config)
    return KNOWN.get(named.name) if named else None


def random(config: Config) -> float | None:
    """The mean return of random actions, where it is known."""
    documented = known(config)
    return documented.random if documented else None


def paid(config: Config) -> float | None:
    """What each step pays, where all pay the same and it is documented."""
    named = of(config)
    return PAID.get(named.name) if named else None


def highest(config: Config) -> float | None:
    """The largest return of an episode, where it is documented."""
    named = of(config)
    return HIGHEST.get(named.name + named.version, HIGHEST.get(named.name)) if named else None
