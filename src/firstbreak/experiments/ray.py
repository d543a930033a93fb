"""Runs trials on a Ray cluster. Ray chooses the machine. If a worker is lost, only its trial is started again.

With a shared disk, a trial runs in its folder. Without a shared disk, the trial runs in a folder of the worker, which is sent
back as one archive. The trainer is a child process of the worker, with the same supervisor as on one machine: when the worker is
killed, its trainer also ends.
"""

import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firstbreak.experiments import runner
from firstbreak.experiments.runner import Result, Trial
from firstbreak.values import replace

TOKEN = ".driver"  #: in the folder of all trials: a worker that finds this file shares the driver's disk
Answered = tuple[Result, bytes | None]


def on_ray(address: str, *, cpus: float = 1, gpus: float = 0) -> Callable[..., list[Result]]:
    """A function that runs trials on the cluster at `address` (auto, local or ray://host:port). `cpus` and `gpus`: per trial.

    Raises ModuleNotFoundError if Ray is not installed.
    """
    import ray

    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)

    def execute(
        trials: list[Trial], *, retries: int, stop: Callable[[], bool], report: Callable[[Result], None]
    ) -> list[Result]:
        """`stop` is not called: there is no interim analysis of a trial on another machine."""
        done = {trial.name: old for trial in trials if (old := runner.stored(trial)) is not None and old.final}
        for trial in trials:
            trial.folder.parent.mkdir(parents=True, exist_ok=True)
            (trial.folder.parent / TOKEN).touch()
        # max_calls: a new worker for each trial; max_retries: for a lost worker, not for a failed trial
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
    """The result. If the trial ran on another disk, its folder is unpacked here."""
    try:
        result, archive = ray.get(ready)
    except (ray.exceptions.RayError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        return Result(trial=trial.name, state="interrupted", exit_code=None, seconds=0.0, detail=reason)
    if archive is not None:
        trial.folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            packed.extractall(trial.folder)
    answered: Result = result
    return answered


def _work(trial: Trial) -> Answered:
    """On a worker: run the trial."""
    if (trial.folder.parent / TOKEN).exists():
        return runner.run(trial), None
    with tempfile.TemporaryDirectory() as scratch:
        here = _moved(trial, Path(scratch).resolve() / trial.folder.name)
        result = runner.run(here)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(here.folder.rglob("*")):
                archive.write(path, path.relative_to(here.folder))
        return result, packed.getvalue()


def _moved(trial: Trial, folder: Path) -> Trial:
    """The same trial in another folder. The old folder is replaced in the command and the environment."""
    old, new = str(trial.folder), str(folder)
    arguments = tuple(word.replace(old, new) for word in trial.arguments)
    environment = {name: value.replace(old, new) for name, value in trial.environment.items()}
    return replace(trial, folder=folder, arguments=arguments, environment=environment)
