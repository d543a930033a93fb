"""Stable-Baselines3: `model.learn(n, callback=sb3_loop.recorder())` logs what the environment does, beside the library's curves.

The library logs what the update does, so that a wrong observation, action, episode end or advantage shows in it as nothing but
a low return. The numbers of `loop/` come from the transitions that are collected anyway, cost no random number, and
are what the detectors of the environment and of the advantage need (inside/firstbreak_loop.py says how each
is measured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firstbreak.inside.firstbreak_loop import Transitions, advantages, compared

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

PREFIX = "loop/"


def recorder() -> BaseCallback:
    """A callback for `learn`, alone or in a list; every number is the mean since the logger last wrote."""
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    class Recorder(BaseCallback):
        """The hooks of the library."""

        def _on_training_start(self) -> None:
            self.transitions = Transitions()
            # of images and parts it would say nothing true
            self.flat = len(self.model.observation_space.shape or ()) == 1

        def _on_rollout_start(self) -> None:
            self.dones: list[np.ndarray] = []

        def _on_step(self) -> bool:
            seen, told = self.model._last_obs, self.locals  # the next observation takes its place after the callbacks
            self.dones.append(told["dones"].copy())
            if self.flat:
                step = told["actions"], told["dones"], told["infos"], told["rewards"]
                self._record(self.transitions.add(seen, *step))
            return True

        def _on_rollout_end(self) -> None:
            if isinstance(self.model, OnPolicyAlgorithm):
                held, last = self.model.rollout_buffer, self.locals["values"].detach().cpu().numpy().ravel()
                own = advantages(
                    held.rewards, held.values, last, np.stack(self.dones).astype(float), held.gamma, held.gae_lambda
                )
                self._record(compared(held.advantages, own))

        def _record(self, numbers: dict[str, float]) -> None:
            for name, value in numbers.items():
                self.logger.record_mean(PREFIX + name, value)

    return Recorder()
