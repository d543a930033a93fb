"""The wrapper that injects the faults of an environment."""

from collections.abc import Callable
from typing import Any

import gymnasium

Change = Callable[[Any], Any]


def unchanged(value: Any) -> Any:
    """The value without a change."""
    return value


class Tampered(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that behaves differently once `started()` is true.

    Before each step, `world` is called with the unwrapped environment and `action` with the action of the agent. After the
    step, `observation`, `reward` and `end` (a pair: terminated, truncated) are called with what the environment returned.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        started: Callable[[], bool],
        tick: Callable[[], None],
        *,
        world: Change = unchanged,
        action: Change = unchanged,
        observation: Change = unchanged,
        reward: Change = unchanged,
        end: Change = unchanged,
    ) -> None:
        super().__init__(env)
        self.started, self.tick = started, tick
        self.changes = {"world": world, "action": action, "observation": observation, "reward": reward, "end": end}

    def _changed(self, what: str, value: Any) -> Any:
        return self.changes[what](value) if self.started() else value

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(**options)
        return self._changed("observation", observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        self._changed("world", self.env.unwrapped)
        observation, reward, *end, info = self.env.step(self._changed("action", action))
        terminated, truncated = self._changed("end", tuple(end))
        observation, reward = self._changed("observation", observation), self._changed("reward", reward)
        self.tick()
        return observation, reward, terminated, truncated, info
