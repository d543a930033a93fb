"""One wrapper through which every fault of an environment enters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

Change = Callable[[Any], Any]


def unchanged(value: Any) -> Any:
    """What was there."""
    return value


class Tampered(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose actions, observations or rewards are changed from its step `onset` on."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        onset: int = 0,
        *,
        action: Change = unchanged,
        observation: Change = unchanged,
        reward: Change = unchanged,
    ) -> None:
        super().__init__(env)
        self.onset, self.taken = onset, 0
        self._changes = {"action": action, "observation": observation, "reward": reward}

    def _change(self, what: str, value: Any) -> Any:
        return self._changes[what](value) if self.taken >= self.onset else value

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(**options)
        return self._change("observation", observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step, tampered with from the onset on."""
        observation, reward, terminated, truncated, info = self.env.step(self._change("action", action))
        observation, reward = self._change("observation", observation), self._change("reward", reward)
        self.taken += 1
        return observation, reward, terminated, truncated, info
