"""verl, OpenRLHF and AReaL through the modules of theirs that write metrics, as they ship.

The packages need GPUs to train; these modules do not. They are installed without their dependencies (see the Makefile), and
imported without running the packages' own `__init__`, which asks for engines.
"""

import importlib
import logging
import math
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from firstbreak.live.guard.adapters import tracking
from firstbreak.live.guard.adapters.tracking import TrainingStopped
from firstbreak.live.guard.guard import Guard

TRACKERS = Path(sys.prefix) / "trackers"


def module(name: str, **stand_ins: ModuleType) -> ModuleType:
    """A module of a package whose `__init__` files are passed over."""
    path = TRACKERS / (name.replace(".", "/") + ".py")
    if not path.exists():
        missing = f"{name} is not installed in {TRACKERS}: `make setup-test` does it"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    package = name.rpartition(".")[0]
    while package:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [str(TRACKERS / package.replace(".", "/"))]
        package = package.rpartition(".")[0]
    sys.modules.update(stand_ins)
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """The half-loaded packages must not be found by other tests."""
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        if name.partition(".")[0] in ("verl", "openrlhf", "areal"):
            del sys.modules[name]


def each(write: Callable[[int], None]) -> None:
    for step in range(5, 9):
        write(step)


def guarded(folder: Path) -> Guard:
    return Guard("stop", folder=folder, on_decision=lambda d: None)


def test_verl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tracker = module("verl.utils.tracking").Tracking("project", "experiment", ["console"])
    guard = guarded(tmp_path)
    tracking.verl(tracker, guard)
    for step in range(5):
        tracker.log({"actor/pg_loss": 0.1, "actor/grad_norm": 1.0, "critic/score/mean": 0.5}, step=step)
    broken = {"actor/pg_loss": math.nan, "actor/grad_norm": math.nan}
    with pytest.raises(TrainingStopped, match="not finite"):
        each(lambda step: tracker.log(broken, step=step))
    assert "actor/pg_loss" in capsys.readouterr().out, "the other backends still get the metrics"
    run = guard.run()
    assert run.trainer == "verl"
    assert {"policy.loss", "grad.norm"} <= set(run.series)
    assert guard.decision.bundle is not None
    tracker.finish()


def test_openrlhf(tmp_path: Path) -> None:
    logging_utils = module("openrlhf.utils.logging_utils")
    options = SimpleNamespace(tensorboard_dir=str(tmp_path), wandb=SimpleNamespace(run_name="run"))
    inner = logging_utils.TensorboardLogger(SimpleNamespace(logger=options))
    guard = guarded(tmp_path / "incidents")
    logger = tracking.openrlhf(guard, inner)
    public = {name for name in dir(inner) if not name.startswith("_") and callable(getattr(inner, name))}
    assert public <= set(dir(logger)), "whatever a trainer calls is there"
    for step in range(5):
        logger.log_train(step, {"policy_loss": 0.1, "reward": 0.5, "kl": 0.01, "generated_samples": ["text", 1.0]})
    logger.log_eval(4, {"eval_default_pass1": 0.4})
    with pytest.raises(TrainingStopped):
        each(lambda step: logger.log_train(step, {"policy_loss": math.nan}))
    logger.close()
    assert list(tmp_path.rglob("events.out.tfevents*"))
    assert guard.run().trainer == "openrlhf"
    assert "policy.loss" in guard.run().series


def test_areal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("swanlab")
    stand_ins: dict[str, Any] = {
        "areal.api": types.ModuleType("areal.api"),
        "areal.api.cli_args": types.ModuleType("c"),
    }
    stand_ins["areal.api"].FinetuneSpec = object
    stand_ins["areal.api.cli_args"].BaseExperimentConfig = stand_ins["areal.api.cli_args"].StatsLoggerConfig = type(
        "C", (), {}
    )
    stand_ins["areal.utils.logging"] = types.ModuleType("areal.utils.logging")
    stand_ins["areal.utils.logging"].getLogger = lambda name, kind=None: logging.getLogger(name)
    stats_logger = module("areal.utils.stats_logger", **stand_ins)
    for backend in ("wandb", "swanlab"):
        monkeypatch.setattr(stats_logger, backend, SimpleNamespace(log=lambda item, step: None))
    monkeypatch.setattr(stats_logger.StatsLogger, "init", lambda self: None)  # it would log in to its services
    logger = stats_logger.StatsLogger(
        SimpleNamespace(stats_logger=None),
        SimpleNamespace(total_train_epochs=1, steps_per_epoch=9, total_train_steps=9),
    )
    logger.summary_writer = None
    guard = guarded(tmp_path)
    tracking.areal(logger, guard)
    names = ("ppo_actor/update/actor_loss/avg", "ppo_actor/update/grad_norm", "rollout/reward")
    for step in range(5):
        logger.commit(0, step, step, dict.fromkeys(names, 0.1))
    with pytest.raises(TrainingStopped):
        each(lambda step: logger.commit(0, step, step, dict.fromkeys(names, math.nan)))
    assert logger.state_dict() == {"last_commit_step": 7}, "what it does itself is done"
    assert guard.run().trainer == "areal"
    assert "grad.norm" in guard.run().series
