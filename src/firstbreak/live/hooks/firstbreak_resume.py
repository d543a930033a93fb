"""Resuming from a checkpoint with the settings of the trial.

Without these hooks, trainers also restore the learning rate and the random state of the checkpoint. In addition, a shorter
training would be further along its learning rate schedule than the original run at the same step.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from firstbreak_hooks import note, took_hold

#: checkpoint, step and planned steps of the original run, other_seed, options under the trainer's names
ResumePlan = Mapping[str, Any]


def resume_transformers(trainer: Any, plan: ResumePlan) -> None:
    """transformers.Trainer and its subclasses (transformers/trainer.py)."""
    train, schedule = trainer.train, trainer.create_scheduler
    restore, restore_random = trainer._load_optimizer_and_scheduler, trainer._load_rng_state
    resumed: WeakKeyDictionary[Any, list[dict[str, Any]]] = WeakKeyDictionary()  # trainer -> its optimizer's settings

    @functools.wraps(train)
    def trained(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint is None and self.args.resume_from_checkpoint == plan["checkpoint"]:
            # the option alone has no effect: scripts must pass it to `train`
            resume_from_checkpoint = plan["checkpoint"]
        if str(resume_from_checkpoint) == plan["checkpoint"]:
            resumed[self] = []
        return train(self, resume_from_checkpoint, *args, **kwargs)

    @functools.wraps(schedule)
    def scheduled(self: Any, num_training_steps: int, *args: Any, **kwargs: Any) -> Any:
        if self not in resumed:
            return schedule(self, num_training_steps, *args, **kwargs)
        made = schedule(self, int(plan["planned"]), *args, **kwargs)
        resumed[self] = [{k: v for k, v in group.items() if k != "params"} for group in self.optimizer.param_groups]
        return made

    @functools.wraps(restore)
    def restored(self: Any, checkpoint: Any) -> None:
        restore(self, checkpoint)
        if self in resumed:
            note("watch.jsonl", schedule=max(map(_take_settings, self.optimizer.param_groups, resumed[self])))
            self.lr_scheduler.base_lrs = [group["initial_lr"] for group in self.optimizer.param_groups]
            self.lr_scheduler._last_lr = [group["lr"] for group in self.optimizer.param_groups]
            took_hold("resumed", plan["checkpoint"], type(self).__name__)

    @functools.wraps(restore_random)
    def restored_random(self: Any, checkpoint: Any) -> None:
        if self not in resumed or not plan["other_seed"]:
            restore_random(self, checkpoint)

    trainer.train, trainer.create_scheduler = trained, scheduled
    trainer._load_optimizer_and_scheduler, trainer._load_rng_state = restored, restored_random


def _take_settings(group: dict[str, Any], own: Mapping[str, Any]) -> float:
    """Give a restored parameter group the settings of the trial, at the same position of the schedule.

    Returns this position: the current share of the full learning rate.
    """
    share = float(group["lr"] / group["initial_lr"]) if group["initial_lr"] else 1.0
    group.update(own, lr=own["initial_lr"] * share)
    return share


def resume_stable_baselines3(algorithm: Any, plan: ResumePlan) -> None:
    """stable_baselines3.common.base_class.BaseAlgorithm."""
    load, setup = algorithm.load.__func__, algorithm._setup_learn
    progress = algorithm._update_current_progress_remaining
    resumed: WeakSet[Any] = WeakSet()

    @functools.wraps(load)
    def loaded(cls: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if not _same(path, plan["checkpoint"]):
            return load(cls, path, *args, **kwargs)
        known = inspect.signature(cls.__init__).parameters
        held = load(cls, path, *args, **kwargs)
        own = {n: _scheduled(vars(held)[n], v) for n, v in plan["options"].items() if n in known and n in vars(held)}
        model = load(cls, path, *args, **{**own, **kwargs})  # most scripts load without their options
        resumed.add(model)
        if full := model.lr_schedule(1.0):
            note("watch.jsonl", schedule=float(model.lr_schedule(1 - plan["step"] / plan["planned"]) / full))
        took_hold("resumed", plan["checkpoint"], cls.__name__)
        return model

    @functools.wraps(setup)
    def set_up(self: Any, *args: Any, **kwargs: Any) -> Any:
        # the logged means include the episodes of the original run
        episodes = self.ep_info_buffer, self.ep_success_buffer
        made = setup(self, *args, **kwargs)
        if self in resumed and episodes[0] is not None:
            self.ep_info_buffer, self.ep_success_buffer = episodes
        return made

    @functools.wraps(progress)
    def progressed(self: Any, num_timesteps: int, total_timesteps: int) -> None:
        if self not in resumed:
            progress(self, num_timesteps, total_timesteps)
            return
        step = plan["step"] + num_timesteps - self._num_timesteps_at_start
        progress(self, min(step, plan["planned"]), plan["planned"])

    algorithm.load, algorithm._setup_learn = classmethod(loaded), set_up
    algorithm._update_current_progress_remaining = progressed


def _scheduled(held: Any, value: Any) -> Any:
    """The value. If a schedule is in use, the same schedule with the value as its start."""
    if not callable(held) or not held(1.0):
        return value
    return lambda remaining: held(remaining) * value / held(1.0)


def _same(path: Any, checkpoint: str) -> bool:
    """Whether `path` is this checkpoint. The path may be without `.zip`."""
    if not isinstance(path, str | os.PathLike):
        return False
    return os.path.realpath(os.fspath(path).removesuffix(".zip")) == os.path.realpath(checkpoint.removesuffix(".zip"))
