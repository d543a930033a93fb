"""Stable-Baselines3: `model.learn(n, callback=sb3.callback(guard))`.

Metrics come from an additional output of the library's logger. The guard is asked before every optimizer step. A bundle stores
the rollout and the random numbers before `train()`, to run the update again. Off-policy algorithms sample from a replay
buffer that is too large to store, so their bundles contain the model and no batch.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from firstbreak.live.guard.adapters import torch as shared
from firstbreak.live.guard.bundle import FileContent
from firstbreak.live.guard.decision import REDUCTION, Act, GuardPolicy
from firstbreak.live.guard.guard import Guard
from firstbreak.live.guard.history import number
from firstbreak.readers.checkpoints import NUMBERED

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

#: options that are attributes of the model with the same name
OPTIONS = (
    "n_envs", "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "vf_coef", "max_grad_norm", "target_kl",
    "learning_rate", "buffer_size", "learning_starts", "tau", "gradient_steps", "seed", "normalize_advantage",
    "target_update_interval", "exploration_fraction", "exploration_final_eps",
)  # fmt: skip
ROLLOUT = ("observations", "actions", "rewards", "advantages", "returns", "episode_starts", "log_probs", "values")


def callback(guard: Guard, checkpoints: str | Path | None = None) -> BaseCallback:
    """A callback for `learn`. `checkpoints` is the folder of a CheckpointCallback, for a rollback."""
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import KVWriter
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    class Guarded(BaseCallback):
        """The hooks of the library."""

        def __init__(self) -> None:
            super().__init__()
            self._before: dict[str, Any] = {}

        def _on_training_start(self) -> None:
            on_policy = isinstance(self.model, OnPolicyAlgorithm)
            guard.trainer = guard.trainer or "sb3"
            guard.config |= options(self.model)
            guard.attach("sb3", self._files, update_hooks=on_policy)
            shared.ask_before_steps(guard, *optimizers(self.model))
            if (
                guard.policy is not GuardPolicy.OBSERVE
                and guard.target_kl
                and getattr(self.model, "target_kl", 0) is None
            ):
                setattr(self.model, "target_kl", guard.target_kl)  # noqa: B010 (PPO has it): the library's own early stop, inside the epochs
            self.logger.output_formats.append(Output(self))

        def _on_rollout_end(self) -> None:
            if isinstance(self.model, OnPolicyAlgorithm) and guard.begin_update():
                self._before = {
                    "random": shared.random_state(),
                    # `reset()` creates new arrays, so these arrays stay unchanged
                    "buffer": copy.copy(self.model.rollout_buffer),
                    "num_timesteps": self.model.num_timesteps,
                    "progress": self.model._current_progress_remaining,
                }

        def _on_step(self) -> bool:
            return not guard.decision.stop

        def _on_training_end(self) -> None:
            guard.close()

        def observe(self, step: int, metrics: Mapping[str, Any]) -> None:
            for path in Path(checkpoints).glob("*.zip") if checkpoints else ():
                if match := NUMBERED.search(path.name):
                    guard.checkpoint(float(match[1]), path)
            if guard.observe(step, metrics).act is Act.REDUCE:
                schedule = self.model.lr_schedule
                self.model.lr_schedule = lambda left: REDUCTION * schedule(left)

        def _files(self) -> dict[str, FileContent]:
            files: dict[str, FileContent] = {"model.zip": self._save}
            if self._before:
                files["state.pt"] = shared.saved(self._state)
                files["batch.pt"] = shared.saved(lambda: rollout(self._before["buffer"]))
            return files

        def _save(self, file: BinaryIO) -> None:
            whole = io.BytesIO()  # `save` closes the file
            self.model.save(whole)
            file.write(whole.getvalue())

        def _state(self) -> dict[str, Any]:
            kept = shared.state(self.model.policy, [self.model.policy.optimizer], self._before["random"])
            return kept | {name: self._before[name] for name in ("num_timesteps", "progress")}

    class Output(KVWriter):
        """An additional output of the library's logger."""

        def __init__(self, owner: Guarded) -> None:
            self.owner = owner

        def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
            self.owner.observe(step, key_values)

        def close(self) -> None:
            guard.close()

    return Guarded()


def options(model: Any) -> dict[str, Any]:
    """The options of the model, under the library's own names."""
    kept = {name: getattr(model, name, None) for name in OPTIONS}
    about = {"algo": type(model).__name__.lower(), "n_timesteps": model._total_timesteps}
    return about | {
        name: value for name, value in kept.items() if isinstance(value, str | bool) or number(value) is not None
    }


def optimizers(model: Any) -> list[Any]:
    """Every optimizer of the model."""
    owners = (model.policy, *(getattr(model, name, None) for name in ("actor", "critic")))
    found = [*(getattr(owner, "optimizer", None) for owner in owners), getattr(model, "ent_coef_optimizer", None)]
    return list({id(o): o for o in found if o is not None}.values())


def rollout(buffer: Any) -> dict[str, Any]:
    """The arrays of a rollout buffer, as they were collected."""
    return {name: shared.plain(getattr(buffer, name)) for name in ROLLOUT} | {"pos": buffer.pos, "full": buffer.full}


def replay(built: Any, bundle: Path) -> dict[str, float]:
    """The metrics of `train()` on the bundle's rollout, with every optimizer step skipped as before. `built` is the model."""
    from stable_baselines3.common.logger import Logger

    kept, arrays = shared.load(bundle / "state.pt"), shared.load(bundle / "batch.pt")
    buffer = built.rollout_buffer
    buffer.reset()
    for name in ROLLOUT:
        setattr(buffer, name, arrays[name].numpy())
    buffer.pos, buffer.full = arrays["pos"], arrays["full"]
    built.num_timesteps, built._current_progress_remaining = kept["num_timesteps"], kept["progress"]
    built.set_logger(Logger(None, []))
    shared.restore(kept, built.policy, [built.policy.optimizer])
    norms: list[float] = []

    def skip(optimizer: Any, arguments: Any, given: Any) -> None:
        norms.append(shared.gradient_norm([optimizer]))
        shared.drop_gradients(optimizer)

    with built.policy.optimizer.register_step_pre_hook(skip):
        built.train()
    logged = {name: float(v) for name, v in built.logger.name_to_value.items() if "loss" in name or "kl" in name}
    return {"grad.norm": norms[0], **logged}
