"""Many runs: a grid of faults, severities, bases and seeds, trained on all cores or on a Ray cluster, and resumable.

A corpus is a folder with one archive per run (`<plant>/<base>-<severity>-<seed>.tar.xz`: the run's folder and its label)
and `manifest.json`. A run whose archive exists is not trained again, so a build that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import multiprocessing
import os
import platform
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from firstbreak.lab.plants import catalogue
from firstbreak.lab.running import Label, read_label, run

PACKAGES = ("firstbreak", "numpy", "torch", "stable-baselines3", "gymnasium", "trl", "transformers")


@dataclass(frozen=True, order=True)
class Job:
    """One run to make."""

    plant: str
    base: str
    severity: float
    seed: int

    @property
    def archive(self) -> str:
        """Where its archive lies in the corpus."""
        return f"{self.plant}/{self.base.replace('/', '-')}-{self.severity:g}-{self.seed}.tar.xz"


def grid(
    seeds: Iterable[int],
    *,
    healthy_seeds: Iterable[int] = (),
    plants: Iterable[str] | None = None,
    bases: Iterable[str] | None = None,
) -> list[Job]:
    """Every severity of every fault in every base, seed by seed, and every healthy variant.

    `plants` and `bases` narrow the grid; healthy variants take `healthy_seeds` where given. The first seed of everything
    comes first, so that a build that is stopped early is a small corpus and not a part of a large one.
    """
    wanted = [plant for plant in catalogue().values() if plants is None or plant.id in set(plants)]
    allowed = None if bases is None else set(bases)
    faulty = list(seeds)
    healthy = list(healthy_seeds) or faulty
    jobs = [
        Job(plant.id, base, severity, seed)
        for plant in wanted
        for base, severities in plant.bases.items()
        if allowed is None or base in allowed
        for severity in severities
        for seed in (healthy if plant.healthy else faulty)
    ]
    return sorted(jobs, key=lambda job: job.seed)


@dataclass(frozen=True)
class Progress:
    """How far a build is."""

    done: int
    total: int
    failed: int
    job: Job
    error: str | None = None


def build(
    out: Path,
    jobs: Iterable[Job],
    *,
    processes: int | None = None,
    ray_address: str | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Make the runs that are missing in `out`; the manifest, as it is written beside them.

    `processes` defaults to the number of cores; each run has a process of its own and one thread. With `ray_address`
    (`auto`, `local` or `ray://host:port`) the runs are spread over that cluster instead. A run that fails is listed in
    the manifest with its error, and tried again by the next build.
    """
    jobs = list(jobs)
    missing = [job for job in jobs if not (out / job.archive).exists()]
    failed: dict[str, str] = {}
    source = _on_ray(missing, ray_address) if ray_address else _on_cores(missing, processes or os.cpu_count() or 1)
    done = len(jobs) - len(missing)
    for job, archive, error in source:
        if archive is not None:
            _write(out / job.archive, archive)
            done += 1
        else:
            failed[job.archive] = error
        report(Progress(done, len(jobs), len(failed), job, error or None))
    manifest = _manifest(out, failed)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def labels(folder: Path) -> dict[str, Label]:
    """The label of every run of a corpus, by archive, from its manifest."""
    runs = json.loads((folder / "manifest.json").read_text())["runs"]
    return {archive: Label(**entry["label"]) for archive, entry in runs.items()}


@contextmanager
def opened(folder: Path, archive: str) -> Iterator[tuple[Path, Label]]:
    """A run of a corpus, unpacked for as long as the context lasts: its folder, and its label."""
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(folder / archive) as packed:
            packed.extractall(scratch, filter="data")
        yield Path(scratch) / "run", read_label(Path(scratch))


# Making one run ------------------------------------------------------------------------------------------------------


def make(job: Job) -> bytes:
    """Train one run; its archive, which is the same for the same files."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run(job.plant, out=folder, seed=job.seed, severity=job.severity, base=job.base)
        return _pack(folder)


def _pack(folder: Path) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as packed:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            info = tarfile.TarInfo(str(path.relative_to(folder)))
            info.size = path.stat().st_size
            packed.addfile(info, io.BytesIO(path.read_bytes()))
    return lzma.compress(plain.getvalue(), preset=9)


def _write(path: Path, archive: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(archive)
    partial.replace(path)


# Where runs are made -------------------------------------------------------------------------------------------------

Result = tuple[Job, bytes | None, str]  #: the archive, or why there is none


def _on_cores(jobs: list[Job], processes: int) -> Iterator[Result]:
    """Each run in a fresh process, forked from one that has already imported torch and runs no thread."""
    if not jobs:
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["firstbreak.lab.language.trainer", "stable_baselines3"])
    with ProcessPoolExecutor(processes, mp_context=context, max_tasks_per_child=1) as pool:
        futures: dict[Future[bytes], Job] = {pool.submit(make, job): job for job in jobs}
        for future in as_completed(futures):
            error = future.exception()
            yield futures[future], None if error else future.result(), _line(error)


def _on_ray(jobs: list[Job], address: str) -> Iterator[Result]:
    import ray

    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    remote = ray.remote(num_cpus=1, max_calls=1)(make)  # max_calls: a fresh process for each run
    pending = {remote.remote(job): job for job in jobs}
    while pending:
        (ready,), _ = ray.wait(list(pending), num_returns=1)
        job = pending.pop(ready)
        try:
            yield job, ray.get(ready), ""
        except ray.exceptions.RayTaskError as error:
            yield job, None, _line(error.cause)
    ray.shutdown()


def _line(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {error}".partition("\n")[0]


def _manifest(out: Path, failed: dict[str, str]) -> dict[str, Any]:
    runs = {}
    for path in sorted(out.rglob("*.tar.xz")):
        archive = str(path.relative_to(out))
        with opened(out, archive) as (_, label):
            runs[archive] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "label": asdict(label)}
    return {
        "command": "firstbreak lab build",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {package: _version(package) for package in PACKAGES},
        "runs": runs,
        "failed": failed,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
