"""Environments, experts and critics of other kinds than those of environments.py, each right, or with one fault.

The inputs of strangers.py hold one line that makes one of these, as a user's `make_env.py` would.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

STILL = "still"  #: no fault


class Boat(gym.Env):
    """A boat is pushed in a plane towards a buoy: Box actions, Box observations, paid for coming closer."""

    def __init__(self, fault: str = STILL, drag: float = 0.2, horizon: int = 60, size: float = 1.0) -> None:
        self.fault, self.drag, self.horizon, self.size = fault, drag, horizon, size
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        bound = np.inf if fault in ("unscaled",) else 20.0
        self.observation_space = spaces.Box(-bound, bound, (6,), np.float32)
        self.kept = np.zeros(6, np.float32)
        self.wind = np.zeros(2)
        self.owed: list[float] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 2) * self.size
        self.speed = np.zeros(2)
        self.buoy = self.np_random.uniform(-1, 1, 2) * self.size
        if self.fault != "leak":
            self.wind = np.zeros(2)
        self.time, self.owed = 0, []
        return self.seen(), {}

    def seen(self) -> np.ndarray:
        now = np.concatenate([self.place, self.speed, self.buoy - self.place])
        if self.fault == "unscaled":  # millimetres, and the speed in metres a second
            now = now * np.array([4e4, 4e4, 1, 1, 4e4, 4e4]) + np.array([3e5, 3e5, 0, 0, 0, 0])
        if self.fault == "zero":
            now = now * 0
        if self.fault == "shifted":
            now = now * 1e-3 + 15.0
        if self.fault == "buffer":
            self.kept[:] = now
            return self.kept
        return now.astype(np.float32)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        push = np.clip(np.asarray(action, float), -1, 1)
        if self.fault == "ignored":
            push = np.asarray(self.np_random.uniform(-1, 1, 2))
        before = float(np.linalg.norm(self.buoy - self.place))
        self.speed = (1 - self.drag) * self.speed + 0.1 * self.size * push + 0.02 * self.wind
        self.wind = 0.9 * self.wind + 0.1 * push
        self.place = np.clip(self.place + self.speed, -6 * self.size, 6 * self.size)
        self.time += 1
        after = float(np.linalg.norm(self.buoy - self.place))
        reward = 10 * (before - after) / self.size
        if self.fault == "sign":
            reward = -reward
        if self.fault == "late":
            self.owed.append(reward)
            reward = self.owed[-4] if len(self.owed) > 3 else 0.0
        if self.fault == "huge":
            reward *= 2e5
        there = after < 0.05 * self.size and self.fault not in ("never", "limit")
        over = self.time >= self.horizon and self.fault != "never"
        if self.fault == "limit":
            return self.seen(), reward, over, False, {}
        return self.seen(), reward, there, over and not there, {}


def steer(observation: np.ndarray) -> np.ndarray:
    """Towards the buoy, braking."""
    now = np.asarray(observation, float)
    return np.clip(3 * now[4:6] - 4 * now[2:4], -1, 1).astype(np.float32)


def steer_in_degrees(observation: np.ndarray) -> np.ndarray:
    """The same, in another unit."""
    return (57.3 * steer(observation)).astype(np.float32)


class Farm(gym.Env):
    """A picker walks on a small map of three layers of pixels and is paid for each apple: Discrete actions, uint8 images."""

    moves = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))

    def __init__(
        self, fault: str = STILL, side: int = 7, apples: int = 5, horizon: int = 60, slip: float = 0.0
    ) -> None:
        self.fault, self.side, self.apples, self.horizon, self.slip = fault, side, apples, horizon, slip
        self.action_space = spaces.Discrete(5)
        self.observation_space = spaces.Box(0, 255, (side, side, 3), np.uint8)
        self.owed: list[float] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        cells = self.np_random.permutation(self.side * self.side)
        self.at = divmod(int(cells[0]), self.side)
        self.ripe = {divmod(int(c), self.side) for c in cells[1 : 1 + self.apples]}
        self.time, self.owed = 0, []
        return self.seen(), {}

    def seen(self) -> np.ndarray:
        picture = np.zeros((self.side, self.side, 3), np.uint8)
        if self.fault == "zero":
            return picture
        picture[self.at][0] = 255
        for cell in self.ripe:
            picture[cell][1] = 255
        picture[..., 2] = min(255, self.time)
        return picture

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        move = self.moves[int(action)]
        if self.fault == "ignored" or (self.slip and self.np_random.random() < self.slip):
            move = self.moves[int(self.np_random.integers(5))]
        top = self.side - 1
        self.at = (min(top, max(0, self.at[0] + move[0])), min(top, max(0, self.at[1] + move[1])))
        reward = 1.0 if self.at in self.ripe else 0.0
        self.ripe.discard(self.at)
        self.time += 1
        if self.fault == "late":
            self.owed.append(reward)
            reward = self.owed[-3] if len(self.owed) > 2 else 0.0
        done = not self.ripe
        if self.fault == "limit":
            return self.seen(), reward, done or self.time >= self.horizon, False, {}
        return self.seen(), reward, done, self.time >= self.horizon and not done, {}


def pick(picture: np.ndarray) -> int:
    """To the nearest apple."""
    here, ripe = np.argwhere(picture[..., 0] == 255), np.argwhere(picture[..., 1] == 255)
    if not len(here) or not len(ripe):
        return 0
    way = ripe[np.abs(ripe - here[0]).sum(1).argmin()] - here[0]
    if way[0]:
        return 1 if way[0] < 0 else 2
    return 3 if way[1] < 0 else 4


class Kitchen(gym.Env):
    """Orders of three kinds wait; how many cooks work at which: MultiDiscrete actions, Dict observations."""

    def __init__(self, fault: str = STILL, rate: float = 1.2, horizon: int = 50) -> None:
        self.fault, self.rate, self.horizon = fault, rate, horizon
        self.action_space = spaces.MultiDiscrete([3, 4])  # which orders, how many cooks
        self.observation_space = spaces.Dict(
            {"waiting": spaces.Box(0, 1, (3,), np.float32), "hour": spaces.Box(0, 1, (1,), np.float32)}
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        super().reset(seed=seed)
        self.waiting = self.np_random.integers(0, 6, 3).astype(float)
        self.time = 0
        return self.seen(), {}

    def seen(self) -> dict[str, np.ndarray]:
        return {
            "waiting": np.clip(self.waiting / 20, 0, 1).astype(np.float32),
            "hour": np.array([min(1.0, self.time / self.horizon)], np.float32),
        }

    def step(self, action: np.ndarray) -> tuple[dict, Any, bool, bool, dict]:
        kind, cooks = int(action[0]), int(action[1])
        if self.fault == "ignored":
            kind, cooks = 0, 1
        served = min(self.waiting[kind], cooks)
        self.waiting[kind] -= served
        self.waiting += self.np_random.poisson(self.rate / 3, 3)
        self.waiting = np.minimum(self.waiting, 20)
        self.time += 1
        reward: Any = float(served - 0.2 * cooks - 0.02 * self.waiting.sum())
        if self.fault == "noise":
            reward = float(self.np_random.normal())
        if self.fault == "none" and self.time % 7 == 0:
            reward = None
        if self.fault == "never":
            return self.seen(), reward, False, False, {}
        return self.seen(), reward, False, self.time >= self.horizon, {}


def cook(observation: dict[str, np.ndarray]) -> np.ndarray:
    """All that wait longest."""
    waiting = observation["waiting"] * 20
    kind = int(np.argmax(waiting))
    return np.array([kind, int(min(3, round(float(waiting[kind]))))])


def cook_the_fourth(observation: dict[str, np.ndarray]) -> np.ndarray:
    """Kinds are counted from 1."""
    return cook(observation) + np.array([1, 0])


def swing(fault: str = STILL, seed: int | None = None) -> Any:
    """A dm_env task: hold a bar at 0. A time limit has the discount 1."""
    import dm_env
    from dm_env import specs

    class Bar(dm_env.Environment):
        def __init__(self) -> None:
            self.rng = np.random.default_rng(seed)
            self.time = 0
            self.angle = self.speed = 0.0

        def observation_spec(self) -> Any:
            return specs.BoundedArray((2,), np.float32, -10, 10, "state")

        def action_spec(self) -> Any:
            return specs.BoundedArray((1,), np.float32, -1, 1, "push")

        def seen(self) -> np.ndarray:
            return np.array([self.angle, self.speed], np.float32)

        def reset(self) -> Any:
            self.angle, self.speed, self.time = self.rng.uniform(-1, 1), 0.0, 0
            return dm_env.restart(self.seen())

        def step(self, action: np.ndarray) -> Any:
            self.speed = float(np.clip(0.95 * self.speed + 0.1 * float(action[0]), -5, 5))
            self.angle = float(np.clip(self.angle + self.speed, -9, 9))
            self.time += 1
            reward = float(np.exp(-abs(self.angle)))
            if self.time >= 40:
                last = dm_env.termination if fault == "limit" else dm_env.truncation
                return last(reward, self.seen())
            return dm_env.transition(reward, self.seen())

    return Bar()


def hold(observation: np.ndarray) -> np.ndarray:
    """Against the angle."""
    angle, speed = np.asarray(observation, float).ravel()[:2]
    return np.array([np.clip(-2 * angle - 6 * speed, -1, 1)], np.float32)
