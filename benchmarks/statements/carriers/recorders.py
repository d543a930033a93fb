"""What the recorder of the environment shows: real runs of Stable-Baselines3 whose environment is miswired."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from benchmarks.statements.carriers.carrier import Commands, Place, carrier

WIRED = "states, actions, terminations and signs are what they seem"
DIAGNOSE: Commands = (("diagnose", "run", "--format", "json"),)
Change = type[gym.Wrapper]


class Zeroed(gym.ObservationWrapper[Any, Any, Any]):
    """Every observation is 0."""

    def observation(self, observation: Any) -> Any:
        return np.zeros_like(observation)


class Shifted(gym.ObservationWrapper[Any, Any, Any]):
    """Every component has 5,000 added."""

    def observation(self, observation: Any) -> Any:
        return (observation + 5000).astype(np.float32)


class Unwired(gym.ActionWrapper[Any, Any, Any]):
    """Random actions are executed instead of the policy's."""

    def action(self, action: Any) -> Any:
        return self.env.action_space.sample()


class Endless(gym.Wrapper[Any, Any, Any, Any]):
    """No episode ever ends."""

    def step(self, action: Any) -> Any:
        observation, reward, _, _, info = self.env.step(action)
        return observation, reward, False, False, info


class Wide(gym.ActionWrapper[Any, Any, Any]):
    """A range of 1,000 instead of 2, which the policy never reaches."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gym.spaces.Box(-1000, 1000, (1,), np.float32)

    def action(self, action: Any) -> Any:
        return np.asarray(action, np.float32) / 500


def trained(place: Place, change: Any, broken: bool) -> Commands:
    """Train for a moment with the recorder, and diagnose the run."""
    import torch
    from stable_baselines3 import A2C, PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import configure

    from firstbreak.live.guard.adapters import sb3_loop

    # Small networks are slower on several threads.
    torch.set_num_threads(1)
    seed = place.rng.randint(0, 9999)
    world = "Pendulum-v1" if change is Wide else "CartPole-v1"
    # The wrapper lies beneath Monitor, which refuses to be stepped past an end.
    env = make_vec_env(lambda: change(gym.make(world)) if broken else gym.make(world), 4, seed=seed)
    env.action_space.seed(seed)
    settings: dict[str, Any] = {"seed": seed, "device": "cpu", "n_steps": 64 if place.variant == "ppo" else 8}
    model = (
        PPO("MlpPolicy", env, n_epochs=4, **settings) if place.variant == "ppo" else A2C("MlpPolicy", env, **settings)
    )
    model.set_logger(configure(str(place.folder / "run"), ["csv"]))
    model.learn(8192, callback=sb3_loop.recorder(), log_interval=1 if place.variant == "ppo" else 8)
    env.close()
    return DIAGNOSE


@carrier(
    "carriers.recorded_observations_are_zero",
    line=WIRED,
    quote="Is the agent seeing the correct states?",
    says=r"(?i)observation",
    variants=("ppo", "a2c"),
)
def recorded_observations_are_zero(place: Place, broken: bool) -> Commands:
    """All-zero observations."""
    return trained(place, Zeroed, broken)


@carrier(
    "carriers.recorded_observations_are_shifted",
    line="missing normalisation of observations",
    quote="missing observation normalization",
    says=r"(?i)observation",
    variants=("ppo", "a2c"),
)
def recorded_observations_are_shifted(place: Place, broken: bool) -> Commands:
    """A huge constant offset."""
    return trained(place, Shifted, broken)


@carrier(
    "carriers.recorded_actions_do_not_reach",
    line=WIRED,
    quote="Are actions being executed correctly by the environment?",
    says=r"(?i)action",
    variants=("ppo", "a2c"),
)
def recorded_actions_do_not_reach(place: Place, broken: bool) -> Commands:
    """Random actions are executed instead of the policy's."""
    return trained(place, Unwired, broken)


@carrier(
    "carriers.recorded_range_is_wide",
    line="actions of the wrong kind or range",
    quote="action scale mismatches",
    says=r"(?i)action",
    variants=("ppo", "a2c"),
)
def recorded_range_is_wide(place: Place, broken: bool) -> Commands:
    """An action range of 1,000."""
    return trained(place, Wide, broken)


@carrier(
    "carriers.recorded_episodes_never_end",
    line=WIRED,
    quote="Are terminal signals handled correctly?",
    says=r"(?i)episode",
    variants=("ppo", "a2c"),
)
def recorded_episodes_never_end(place: Place, broken: bool) -> Commands:
    """No episode ends."""
    return trained(place, Endless, broken)
