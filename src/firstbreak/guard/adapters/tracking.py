"""Trainers that have no callbacks, only a place where metrics are written: verl, OpenRLHF, AReaL.

    verl        tracking.verl(Tracking(...), guard)                 one more backend of `verl.utils.tracking.Tracking`
    OpenRLHF    trainer.wandb_logger = tracking.openrlhf(guard, trainer.wandb_logger)
    AReaL       tracking.areal(trainer.stats_logger, guard)

The weights live in other processes, so nothing can be done inside an update, and a bundle holds metrics and diagnosis. A stop
raises `TrainingStopped` out of the place where metrics are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firstbreak.guard.decision import Decision
from firstbreak.guard.guard import Guard


class TrainingStopped(RuntimeError):
    """The guard has ended the run; `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(str(decision))
        self.decision = decision


def _observe(guard: Guard, step: float, metrics: Mapping[str, Any]) -> None:
    decision = guard.observe(step, metrics)
    if decision.stop:
        raise TrainingStopped(decision)


def verl(tracking: Any, guard: Guard) -> None:
    """Guard a run of verl through its tracker: one more logger, beside those that the configuration names."""
    guard.trainer = guard.trainer or "verl"

    class Backend:
        """What `Tracking.log` calls."""

        def log(self, data: Mapping[str, Any], step: int) -> None:
            _observe(guard, step, data)

    tracking.logger["firstbreak"] = Backend()


class OpenRLHFLogger:
    """A logger as OpenRLHF's trainers call it, in front of the one that is already there."""

    def __init__(self, guard: Guard, inner: Any = None) -> None:
        self.guard, self.inner = guard, inner

    def log_train(self, global_step: int, logs_dict: Mapping[str, Any]) -> None:
        """Metrics of a step, with one generated sample now and then."""
        if self.inner is not None:
            self.inner.log_train(global_step, logs_dict)
        _observe(self.guard, global_step, {f"train/{name}": value for name, value in logs_dict.items()})

    def log_eval(self, global_step: int, logs_dict: Mapping[str, Any]) -> None:
        """Metrics of an evaluation."""
        if self.inner is not None:
            self.inner.log_eval(global_step, logs_dict)
        _observe(self.guard, global_step, {f"eval/{name}": value for name, value in logs_dict.items()})

    def close(self) -> None:
        """Training has ended."""
        self.guard.close()
        if self.inner is not None:
            self.inner.close()


def openrlhf(guard: Guard, inner: Any = None) -> OpenRLHFLogger:
    """The logger to put in the place of `inner`, which it calls."""
    guard.trainer = guard.trainer or "openrlhf"
    return OpenRLHFLogger(guard, inner)


def areal(stats_logger: Any, guard: Guard) -> None:
    """Guard a run of AReaL through `StatsLogger.commit`, which every rank-0 trainer calls once a step."""
    guard.trainer = guard.trainer or "areal"
    commit = stats_logger.commit

    def guarded(epoch: int, step: int, global_step: int, data: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        commit(epoch, step, global_step, data)
        for row in [data] if isinstance(data, Mapping) else data:
            _observe(guard, global_step, row)

    stats_logger.commit = guarded
