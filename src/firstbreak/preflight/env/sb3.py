"""Stable-Baselines3's vectorised environments, checked as what its trainers get: batches, `dones`, and normalisation.

`VecNormalize` keeps running statistics. They are collected for a while, and then held, so that what is probed is what a
trainer sees soon after its start, and the same action gives the same episode.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from firstbreak.model import NotMeasured
from firstbreak.preflight import Answer, critical, warning
from firstbreak.preflight.env import vector
from firstbreak.preflight.env.vector import SEED, STEPS
from firstbreak.preflight.env.worlds import WARM_UP, View, row


def is_vec_env(env: Any) -> bool:
    """Whether it is one; Stable-Baselines3 is not imported for the question."""
    module = sys.modules.get("stable_baselines3.common.vec_env.base_vec_env")
    return module is not None and isinstance(env, module.VecEnv)


def layers(env: Any) -> list[Any]:
    """The environment and what it wraps, from the outside in."""
    found = [env]
    while (inner := found[-1].__dict__.get("venv")) is not None:
        found.append(inner)
    return found


def name(env: Any) -> str:
    """`Stable-Baselines3 VecNormalize(DummyVecEnv), 4 environments`."""
    names = [type(layer).__name__ for layer in layers(env)]
    return f"Stable-Baselines3 {'('.join(names)}{')' * (len(names) - 1)}, {env.num_envs} environments"


class VecEnvView(View):
    """The first environment of a VecEnv, with Gymnasium's reset and step; the others act at random, seeded with the episode."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._normalising = [layer for layer in layers(env) if hasattr(type(layer), "normalize_obs")]
        for layer in reversed(self._normalising):
            self.observation_space = normalised(self.observation_space, layer)
        if any(layer.training for layer in self._normalising):
            self._warm_up()

    def _warm_up(self) -> None:
        self.reset(seed=SEED)
        for _ in range(WARM_UP):
            self.env.step(self._batch(self.action_space.sample()))
        for layer in self._normalising:
            layer.training = False

    def reset(self, *, seed: int | None = None) -> Any:
        if seed is not None:
            self.env.seed(seed)
            self.action_space.seed(seed)
        observations = self.env.reset()
        return row(observations, 0), dict(self.env.reset_infos[0])

    def step(self, action: Any) -> Any:
        observations, rewards, dones, infos = self.env.step(self._batch(action))
        info, done = infos[0], bool(dones[0])
        truncated = done and bool(info.get("TimeLimit.truncated", False))
        last = info.get("terminal_observation", row(observations, 0)) if done else row(observations, 0)
        return last, rewards[0], done and not truncated, truncated, info

    def original(self, observation: Any) -> Any:
        """The observation before it was normalised, which is what a rule of one's own was written for."""
        for layer in self._normalising:
            observation = layer.unnormalize_obs(observation)
        return observation

    def _batch(self, action: Any) -> np.ndarray:
        return np.stack([action, *(self.action_space.sample() for _ in range(self.env.num_envs - 1))])


def normalised(space: Any, layer: Any) -> Any:
    """The space of what VecNormalize returns: it declares that of the observations before it, and clips its own at `clip_obs`."""
    from gymnasium import spaces

    if not layer.norm_obs:
        return space
    if isinstance(space, spaces.Dict):
        keys = layer.norm_obs_keys or list(space.spaces)
        return spaces.Dict({k: normalised(part, layer) if k in keys else part for k, part in space.spaces.items()})
    limit = layer.clip_obs
    return spaces.Box(-limit, limit, space.shape, np.float32) if isinstance(space, spaces.Box) else space


def batches(make: Callable[[], Any]) -> Answer:
    """`reset` and `step` return what the trainers of Stable-Baselines3 unpack."""
    env = make()
    n = env.num_envs
    observations = env.reset()
    if isinstance(observations, tuple) and not hasattr(env.observation_space, "spaces"):
        return critical("reset() returns a tuple: a VecEnv returns observations alone, and keeps infos in reset_infos")
    answer = env.step(np.stack([env.action_space.sample() for _ in range(n)]))
    if len(answer) != 4:
        return critical(
            f"step() returns {len(answer)} values: a VecEnv returns observations, rewards, dones and infos; the reason of an "
            "end is infos[i]['TimeLimit.truncated']"
        )
    _, rewards, dones, infos = answer
    for what, value in (("rewards", rewards), ("dones", dones)):
        if np.shape(value) != (n,):
            return critical(
                f"{what} have shape {np.shape(value)} for {n} environments: this shape broadcasts against the batch, and every "
                f"environment gets the {what} of others; return shape ({n},)"
            )
    if len(infos) != n:
        return critical(f"{len(infos)} infos for {n} environments: return one dict for each")
    return f"{n} environments, one row each"


def seeds(make: Callable[[], Any]) -> Answer:
    """The environments do not all have the same episode."""

    def begun(env: Any, seed: int) -> Any:
        env.seed(seed)
        return env.reset()

    return vector.seeds(make, begun, "the batch has one episode many times; let each environment take its own seed")


def autoreset(make: Callable[[], Any]) -> Answer:
    """The step that ends an episode returns the next one's first observation, and the last one in its info."""
    env = make()
    env.seed(SEED)
    env.reset()
    env.action_space.seed(SEED)
    for _ in range(STEPS):
        _, _, dones, infos = env.step(np.stack([env.action_space.sample() for _ in range(env.num_envs)]))
        ended = np.flatnonzero(dones)
        if len(ended):
            info = infos[int(ended[0])]
            if info.get("terminal_observation") is None:
                return critical(
                    "an episode ended and infos has no terminal_observation: the value of an episode that time cut off is "
                    "bootstrapped from the first observation of the next one; let a VecEnv of Stable-Baselines3 reset it"
                )
            if "TimeLimit.truncated" not in info:
                return warning(
                    "an episode ended and infos does not say why (TimeLimit.truncated): every end counts as a failure; set it"
                )
            return "reset in the same step, with the last observation in infos"
    return NotMeasured(f"no episode ended within {STEPS} steps")
