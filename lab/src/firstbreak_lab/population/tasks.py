"""Small Gymnasium tasks that are learned in seconds, and the true score of a policy on them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.pendulum import PendulumEnv

EPISODES = 20  #: of a true score
SEED = 90_000  #: of its first episode: the same episodes for every policy

Act = Callable[[np.ndarray], np.ndarray]  #: observations, shape (n, features) -> n actions


class Reach(gymnasium.Env[np.ndarray, np.ndarray]):
    """A point with inertia is to be moved to a goal on a line: 25 steps, the reward is minus the distance."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode with another place and goal."""
        super().reset(seed=seed)
        self.place, self.goal = self.np_random.uniform(-1, 1, 2)
        self.speed = 0.0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Push by the action, between -1 and 1."""
        self.speed = 0.5 * self.speed + 0.2 * float(np.clip(action, -1, 1).reshape(-1)[0])
        self.place += self.speed
        return self._seen(), -abs(self.goal - self.place), False, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.goal - self.place, self.place, self.speed], np.float32)


class Grid(gymnasium.Env[np.ndarray, Any]):
    """A goal is to be reached on a board of 5 x 5 fields: 1 at the goal, which ends the episode, and -0.05 for each step."""

    observation_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = spaces.Discrete(4)
    moves = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode with another field and goal."""
        super().reset(seed=seed)
        first, second = self.np_random.choice(25, 2, replace=False)
        self.field, self.goal = np.array(divmod(first, 5)), np.array(divmod(second, 5))
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Go one field; the border stops it."""
        self.field = np.clip(self.field + self.moves[int(action)], 0, 4)
        there = bool((self.field == self.goal).all())
        return self._seen(), 1.0 if there else -0.05, there, False, {}

    def _seen(self) -> np.ndarray:
        return np.concatenate([(self.field - 2) / 2, (self.goal - self.field) / 4]).astype(np.float32)


class Patterns(gymnasium.Env[np.ndarray, Any]):
    """Each step shows one of four noisy patterns; the action that belongs to it is worth 1, and a wrong one ends the episode."""

    observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)
    action_space = spaces.Discrete(4)
    shown = np.random.default_rng(7).choice([-1.0, 1.0], (4, 6))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        return self._next(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Answer the pattern."""
        right = int(action) == self.answer
        return self._next(), float(right), not right, False, {}

    def _next(self) -> np.ndarray:
        self.answer = int(self.np_random.integers(4))
        seen: np.ndarray = self.shown[self.answer] + self.np_random.normal(0, 0.3, 6)
        return seen.astype(np.float32)


class Balance(PendulumEnv):
    """Gymnasium's Pendulum, which begins near the top: to swing it up takes longer to learn than a small run has."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        seen, info = super().reset(seed=seed, options={"x_init": 0.5, "y_init": 0.5})
        return seen, info


@dataclass(frozen=True)
class ControlTask:
    """A task with its limit of steps."""

    make_unlimited: Callable[[], Any]
    limit: int
    best: float  #: mean return of a very good policy
    reward: float  #: size of a usual reward

    def make(self) -> Any:
        """The environment, as `gymnasium.make` would give it."""
        return gymnasium.wrappers.TimeLimit(self.make_unlimited(), self.limit)


def _classic(name: str) -> Callable[[], Any]:
    return lambda: gymnasium.make(name).unwrapped


DISCRETE: Mapping[str, ControlTask] = MappingProxyType(
    {
        "cartpole": ControlTask(_classic("CartPole-v1"), 200, 200.0, 1.0),
        "grid": ControlTask(Grid, 30, 0.88, 0.1),
        "patterns": ControlTask(Patterns, 30, 30.0, 1.0),
    }
)
CONTINUOUS: Mapping[str, ControlTask] = MappingProxyType(
    {"balance": ControlTask(Balance, 30, -1.0, 1.0), "reach": ControlTask(Reach, 25, -1.7, 0.3)}
)
TASKS: Mapping[str, ControlTask] = MappingProxyType({**DISCRETE, **CONTINUOUS})


def score(act: Act, task: ControlTask, episodes: int = EPISODES) -> float:
    """Mean return of a policy over the same episodes as every other policy, in the task as it is meant to be."""
    envs = [task.make() for _ in range(episodes)]
    seen = np.stack([env.reset(seed=SEED + i)[0] for i, env in enumerate(envs)])
    running, total = np.ones(episodes, bool), np.zeros(episodes)
    while running.any():
        actions = act(seen)
        for i in np.flatnonzero(running):
            seen[i], reward, terminated, truncated, _ = envs[i].step(actions[i])
            total[i] += reward
            running[i] = not (terminated or truncated)
    return float(total.mean())
