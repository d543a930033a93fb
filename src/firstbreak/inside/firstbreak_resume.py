"""Going on from a checkpoint: the state is the checkpoint's, and the settings are those that the trial was told.

Left alone, trainers restore the learning rate and the random state with the rest, and a training that is told to end earlier
is further on its schedule than the original was at the same step.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from firstbreak_inside import note, took_hold

#: checkpoint, step and planned steps of the original, other_seed, options by the trainer's names
Told = Mapping[str, Any]


def resume_transformers(trainer: Any, told: Told) -> None:
    """transformers.Trainer, and what is made from it (transformers/trainer.py)."""
    train, schedule = trainer.train, trainer.create_scheduler
    restore, restore_random = trainer._load_optimizer_and_scheduler, trainer._load_rng_state
    resumed: WeakKeyDictionary[Any, list[dict[str, Any]]] = WeakKeyDictionary()  # trainer -> its optimizer's settings

    @functools.wraps(train)
    def trained(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint is None and self.args.resume_from_checkpoint == told["checkpoint"]:
            resume_from_checkpoint = told["checkpoint"]  # the option alone does nothing: scripts have to hand it on
        if str(resume_from_checkpoint) == told["checkpoint"]:
            resumed[self] = []
        return train(self, resume_from_checkpoint, *args, **kwargs)

    @functools.wraps(schedule)
    def scheduled(self: Any, num_training_steps: int, *args: Any, **kwargs: Any) -> Any:
        if self not in resumed:
            return schedule(self, num_training_steps, *args, **kwargs)
        made = schedule(self, int(told["planned"]), *args, **kwargs)
        resumed[self] = [{k: v for k, v in group.items() if k != "params"} for group in self.optimizer.param_groups]
        return made

    @functools.wraps(restore)
    def restored(self: Any, checkpoint: Any) -> None:
        restore(self, checkpoint)
        if self in resumed:
            note("watch.jsonl", schedule=max(map(_take_settings, self.optimizer.param_groups, resumed[self])))
            self.lr_scheduler.base_lrs = [group["initial_lr"] for group in self.optimizer.param_groups]
            self.lr_scheduler._last_lr = [group["lr"] for group in self.optimizer.param_groups]
            took_hold("resumed", told["checkpoint"], type(self).__name__)

    @functools.wraps(restore_random)
    def restored_random(self: Any, checkpoint: Any) -> None:
        if self not in resumed or not told["other_seed"]:
            restore_random(self, checkpoint)

    trainer.train, trainer.create_scheduler = trained, scheduled
    trainer._load_optimizer_and_scheduler, trainer._load_rng_state = restored, restored_random


def _take_settings(group: dict[str, Any], own: Mapping[str, Any]) -> float:
    """Give a restored group of parameters its trial's settings, at the place on the schedule that it had reached.

    That place: the share of the full learning rate.
    """
    share = float(group["lr"] / group["initial_lr"]) if group["initial_lr"] else 1.0
    group.update(own, lr=own["initial_lr"] * share)
    return share


def resume_stable_baselines3(algorithm: Any, told: Told) -> None:
    """stable_baselines3.common.base_class.BaseAlgorithm."""
    load, setup = algorithm.load.__func__, algorithm._setup_learn
    progress = algorithm._update_current_progress_remaining
    resumed: WeakSet[Any] = WeakSet()

    @functools.wraps(load)
    def loaded(cls: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if not _same(path, told["checkpoint"]):
            return load(cls, path, *args, **kwargs)
        known = inspect.signature(cls.__init__).parameters
        held = load(cls, path, *args, **kwargs)
        own = {n: _scheduled(vars(held)[n], v) for n, v in told["options"].items() if n in known and n in vars(held)}
        model = load(cls, path, *args, **{**own, **kwargs})  # scripts mostly load without their options
        resumed.add(model)
        if full := model.lr_schedule(1.0):
            note("watch.jsonl", schedule=float(model.lr_schedule(1 - told["step"] / told["planned"]) / full))
        took_hold("resumed", told["checkpoint"], cls.__name__)
        return model

    @functools.wraps(setup)
    def set_up(self: Any, *args: Any, **kwargs: Any) -> Any:
        episodes = self.ep_info_buffer, self.ep_success_buffer  # the logged means go on over the original's episodes
        made = setup(self, *args, **kwargs)
        if self in resumed and episodes[0] is not None:
            self.ep_info_buffer, self.ep_success_buffer = episodes
        return made

    @functools.wraps(progress)
    def progressed(self: Any, num_timesteps: int, total_timesteps: int) -> None:
        if self not in resumed:
            progress(self, num_timesteps, total_timesteps)
            return
        step = told["step"] + num_timesteps - self._num_timesteps_at_start
        progress(self, min(step, told["planned"]), told["planned"])

    algorithm.load, algorithm._setup_learn = classmethod(loaded), set_up
    algorithm._update_current_progress_remaining = progressed


def _scheduled(held: Any, value: Any) -> Any:
    """The value, or the schedule that is held with the value as its beginning."""
    if not callable(held) or not held(1.0):
        return value
    return lambda remaining: held(remaining) * value / held(1.0)


def _same(path: Any, checkpoint: str) -> bool:
    """Whether `load` is given this file; it may leave out the ending."""
    if not isinstance(path, str | os.PathLike):
        return False
    return os.path.realpath(os.fspath(path).removesuffix(".zip")) == os.path.realpath(checkpoint.removesuffix(".zip"))
