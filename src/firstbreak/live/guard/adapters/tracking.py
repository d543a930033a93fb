"""Trainers without callbacks, where the guard reads the logged metrics: verl, OpenRLHF, AReaL.

    verl        tracking.verl(Tracking(...), guard)                 one more backend of `verl.utils.tracking.Tracking`
    OpenRLHF    trainer.wandb_logger = tracking.openrlhf(guard, trainer.wandb_logger)
    AReaL       tracking.areal(trainer.stats_logger, guard)

The weights are in other processes. The guard cannot skip an update, and a bundle contains metrics and the diagnosis only.
On a stop, the call that logs metrics raises `TrainingStopped`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from firstbreak.live.guard.decision import GuardDecision
from firstbreak.live.guard.guard import Guard


class TrainingStopped(RuntimeError):
    """The guard has ended the run; `decision` says why."""

    def __init__(self, decision: GuardDecision) -> None:
        super().__init__(str(decision))
        self.decision = decision


def _observe(guard: Guard, step: float, metrics: Mapping[str, Any]) -> None:
    decision = guard.observe(step, metrics)
    if decision.stop:
        raise TrainingStopped(decision)


def verl(tracking: Any, guard: Guard) -> None:
    """Guard a run of verl: add one more logger to its tracker."""
    guard.trainer = guard.trainer or "verl"

    class Backend:
        """What `Tracking.log` calls."""

        def log(self, data: Mapping[str, Any], step: int) -> None:
            _observe(guard, step, data)

    tracking.logger["firstbreak"] = Backend()


class OpenRLHFLogger:
    """A logger for OpenRLHF's trainers, which also calls the existing logger."""

    def __init__(self, guard: Guard, inner: Any = None) -> None:
        self.guard, self.inner = guard, inner

    def log_train(self, global_step: int, logs_dict: Mapping[str, Any]) -> None:
        """Metrics of a training step; some steps also have a generated sample."""
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
    """A logger that replaces `inner` and calls it."""
    guard.trainer = guard.trainer or "openrlhf"
    return OpenRLHFLogger(guard, inner)


def areal(stats_logger: Any, guard: Guard) -> None:
    """Guard a run of AReaL through `StatsLogger.commit`, which the rank-0 trainer calls once per step."""
    guard.trainer = guard.trainer or "areal"
    commit = stats_logger.commit

    def guarded(epoch: int, step: int, global_step: int, data: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        commit(epoch, step, global_step, data)
        for row in [data] if isinstance(data, Mapping) else data:
            _observe(guard, global_step, row)

    stats_logger.commit = guarded
