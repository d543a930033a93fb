"""The same trials on a Ray cluster: Ray chooses the machine, a lost worker loses only its trial, which is started again.

A trial runs where its folder can be seen (a shared disk), else in a folder of the worker's own, which travels back as one
archive. The trainer is a process below the worker, under the same supervisor as on one machine: when the worker is killed,
its trainer ends with it.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from firstbreak.experiments import runner
from firstbreak.experiments.runner import Result, Trial

TOKEN = ".driver"  #: in the folder of all trials: a worker that sees it shares the driver's disk
Answered = tuple[Result, bytes | None]


def on_ray(address: str, *, cpus: float = 1, gpus: float = 0) -> Callable[..., list[Result]]:
    """Runs trials on the cluster at `address` (auto, local or ray://host:port), each with so many CPUs and GPUs.

    Raises ModuleNotFoundError where Ray is not installed.
    """
    import ray

    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)

    def execute(
        trials: list[Trial], *, retries: int, stop: Callable[[], bool], report: Callable[[Result], None]
    ) -> list[Result]:
        """`stop` is not asked: a trial on another machine is not watched while it runs."""
        done = {trial.name: old for trial in trials if (old := runner.stored(trial)) is not None and old.final}
        for trial in trials:
            trial.folder.parent.mkdir(parents=True, exist_ok=True)
            (trial.folder.parent / TOKEN).touch()
        # max_calls: a worker of its own for each trial; max_retries: for a worker that is lost, not for a trial that fails
        task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_calls=1, max_retries=max(3, retries))(_work)
        pending = {task.remote(trial): trial for trial in trials if trial.name not in done}
        failures = dict.fromkeys((trial.name for trial in trials), 0)
        while pending:
            (ready,), _ = ray.wait(list(pending), num_returns=1)
            trial = pending.pop(ready)
            result = _received(ray, ready, trial)
            failures[trial.name] += not result.final
            if not result.final and failures[trial.name] <= retries:
                pending[task.remote(trial)] = trial
                continue
            done[trial.name] = result
            report(result)
        return [done[trial.name] for trial in trials]

    return execute


def _received(ray: Any, ready: Any, trial: Trial) -> Result:
    """A result, with the trial's folder unpacked where it came from another disk."""
    try:
        result, archive = ray.get(ready)
    except (ray.exceptions.RayError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        return Result(trial=trial.name, state="interrupted", exit_code=None, seconds=0.0, detail=reason)
    if archive is not None:
        trial.folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(trial.folder, filter="data")
    answered: Result = result
    return answered


def _work(trial: Trial) -> Answered:
    """On a worker: run the trial here."""
    if (trial.folder.parent / TOKEN).exists():
        return runner.run(trial), None
    with tempfile.TemporaryDirectory() as scratch:
        here = _moved(trial, Path(scratch).resolve() / trial.folder.name)
        result = runner.run(here)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(here.folder, arcname=".")
        return result, packed.getvalue()


def _moved(trial: Trial, folder: Path) -> Trial:
    """The same trial in another folder: wherever its command names the old one, it names the new."""
    old = str(trial.folder)
    return replace(
        trial,
        folder=folder,
        arguments=tuple(word.replace(old, str(folder)) for word in trial.arguments),
        environment={name: value.replace(old, str(folder)) for name, value in trial.environment.items()},
    )
