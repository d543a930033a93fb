"""Stable-Baselines3: `model.learn(n, callback=sb3_loop.recorder())` logs metrics of the environment.

The library logs metrics of the update. In these metrics, a wrong observation, action, episode end or advantage is only visible
as a low return. The metrics `loop/...` come from the transitions that are collected anyway, and use no random number. The
detectors of the environment and of the advantage need them (hooks/firstbreak_loop.py says how each is measured). The settings
of the model are written beside the logger's files: the library itself keeps them in a saved model only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firstbreak.live.hooks.firstbreak_loop import Transitions, advantages, compared
from firstbreak.masking import Mask
from firstbreak.written import write

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

PREFIX = "loop/"
ARGUMENTS = "recorder_arguments.json"


def recorder() -> BaseCallback:
    """A callback for `learn`, alone or in a list. Every number is the mean since the last output of the logger."""
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    class Recorder(BaseCallback):
        """The hooks of the library."""

        def _on_training_start(self) -> None:
            self.transitions = Transitions(self.model.action_space)
            # not for images and dict observations
            self.flat = len(self.model.observation_space.shape or ()) == 1
            if self.logger.dir:
                write(Path(self.logger.dir) / ARGUMENTS, json.dumps(settings(self.model), indent=1).encode())

        def _on_rollout_start(self) -> None:
            self.dones: list[np.ndarray] = []

        def _on_step(self) -> bool:
            seen, variables = self.model._last_obs, self.locals  # `_last_obs` is replaced after the callbacks
            self.dones.append(variables["dones"].copy())
            if self.flat:
                step = (variables[name] for name in ("actions", "dones", "infos", "rewards"))
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


def settings(model: Any) -> dict[str, Any]:
    """The numbers, flags and names among a model's attributes, without secrets: as the library calls them."""
    schedule = {"learning_rate": model.lr_schedule(1.0), "learning_rate_end": model.lr_schedule(0.0)}
    if "clip_range" in vars(model):
        schedule["clip_range"] = model.clip_range(1.0)
    held = {k: v for k, v in vars(model).items() if k[0] != "_" and isinstance(v, bool | int | float | str)}
    space, spec = model.action_space, getattr(model.env.envs[0], "spec", None) if hasattr(model.env, "envs") else None
    named = {"algo": type(model).__name__, "env_id": spec.id if spec is not None else None}
    if space.shape:
        named["action_dim"] = int(np.prod(space.shape))
    own: dict[str, Any] = Mask(os.environ).tree(held | schedule | {k: v for k, v in named.items() if v is not None})
    return own
