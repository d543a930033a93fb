"""A corpus: runs for a grid of faults, severities, bases and seeds, trained on all cores or on a Ray cluster.

A corpus is a folder with one archive per run (`<variant>/<base>-<severity>-<seed>.tar.xz`: the run's folder and its label)
and `manifest.json`. A run whose archive exists is not trained again, and an interrupted build can be continued. The jobs
are ordered so that all parts of the grid grow together. For this reason, an incomplete corpus can already be used.
"""

import hashlib
import io
import json
import lzma
import multiprocessing
import os
import platform
import re
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from firstbreak.model import Run, Samples
from firstbreak.readers.read import read
from firstbreak_lab.archives import unpack
from firstbreak_lab.catalogue import Variant, catalogue
from firstbreak_lab.running import Label, label_from, read_label, run

PACKAGES = ("firstbreak", "numpy", "torch", "stable-baselines3", "gymnasium", "trl", "transformers")
SEEDS = 5  #: of each faulty setting: as many as the harm test needs
HEALTHY_SEEDS = 5  #: of each healthy variant in each base

#: base -> options that make its runs shorter, so that two cores train a thousand runs in one evening
SHORTER: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "classic/ppo-cartpole": {"eval_episodes": 5},
        "classic/a2c-cartpole": {"eval_episodes": 5},
        "classic/dqn-cartpole": {"eval_episodes": 5},
        "classic/sac-pendulum": {"total_timesteps": 5_000, "eval_every": 500, "eval_episodes": 5},
        **{
            f"language/{name}": {"total_train_steps": 70, "batch_size": 24}
            for name in ("grpo-sort", "grpo-reverse", "grpo-add", "grpo-tag", "ppo-sort", "async-sort")
        },
        "preference/grpo-sort": {"total_train_steps": 70, "batch_size": 24},
        "trl/grpo-sort": {"steps": 70},
    }
)

# What the test split holds out --------------------------------------------------------------------------------------

TEST_BASES = frozenset({"language/grpo-add", "classic/dqn-cartpole"})  #: tasks that are only in the test split


def held_out(label: Label) -> frozenset[str]:
    """Which properties of this run are not in the training split: of "task", "severity" and "seed".

    - task: the base is one of TEST_BASES
    - severity: the severity is the middle one of its variant and base (the milder one of two)
    - seed: the seed is odd
    """
    severities = catalogue()[label.variant].bases.get(label.base, ())
    respects = {
        "task": label.base in TEST_BASES,
        "severity": len(severities) > 1 and label.severity == severities[(len(severities) - 1) // 2],
        "seed": label.seed % 2 == 1,
    }
    return frozenset(name for name, holds in respects.items() if holds)


def split(label: Label) -> str:
    """ "test" if any property of the run is held out, else "train"."""
    return "test" if held_out(label) else "train"


# The grid -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Job:
    """One run to make."""

    variant: str
    base: str
    severity: float
    seed: int

    @property
    def archive(self) -> str:
        """The path of its archive in the corpus."""
        return f"{self.variant}/{self.base.replace('/', '-')}-{self.severity:g}-{self.seed}.tar.xz"


def grid(seeds: int = SEEDS, healthy_seeds: int = HEALTHY_SEEDS, variants: Iterable[str] | None = None) -> list[Job]:
    """The runs of a corpus: all severities of a fault in its home base, the largest one in its other bases; healthy variants.

    The order is:

    1. all seeds of the largest severity of each fault, one seed of its other severities, and the healthy runs. The harm
       test and the rate of false alarms need these runs.
    2. the middle severities, and the tasks that the test split holds out
    3. the other bases
    4. the mildest severities

    Within each part, all variants grow at the same rate. `variants` limits the grid to some of them.
    """
    wanted = [variant for variant in catalogue().values() if variants is None or variant.id in set(variants)]
    faulty = [entry for variant in wanted if not variant.healthy for entry in _settings(variant)]
    healthy = [Job(variant.id, base, 0.0, 0) for variant in wanted if variant.healthy for base in variant.bases]
    urgent = [replace(job, seed=seed) for seed in range(seeds) for turn, job in faulty if turn == 0 or seed == 0]
    later = [replace(job, seed=s) for now in (1, 2, 3) for s in range(1, seeds) for turn, job in faulty if turn == now]
    calm = [replace(job, seed=seed) for seed in range(healthy_seeds) for job in healthy]
    return _merge(urgent, calm) + later


def home(variant: Variant) -> str:
    """The home base of a variant, in which all of its severities are trained: its first base in the training split."""
    return next((base for base in variant.bases if base not in TEST_BASES), next(iter(variant.bases)))


def _settings(variant: Variant) -> Iterator[tuple[int, Job]]:
    """The settings of a fault, each with its turn. The largest severity in the home base comes first, for the harm test."""
    for base, severities in variant.bases.items():
        if base != home(variant):
            yield 1 if base in TEST_BASES else 2, Job(variant.id, base, severities[-1], 0)
            continue
        for severity in severities:
            turn = 0 if severity == severities[-1] else 3 if severity == severities[0] else 1
            yield turn, Job(variant.id, base, severity, 0)


def _merge(*lists: list[Job]) -> list[Job]:
    """One list in which all the given lists grow at the same rate."""
    paced = [((i + 0.5) / len(jobs), job) for jobs in lists for i, job in enumerate(jobs)]
    return [job for _, job in sorted(paced, key=lambda entry: entry[0])]


# Building ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """The progress of a build."""

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
    """Train the runs that are missing in `out`. Writes and returns the manifest.

    `processes` defaults to the number of cores. Each run has its own process and one thread. With `ray_address`
    (`auto`, `local` or `ray://host:port`), the runs are distributed over that cluster instead. A run that fails is listed
    in the manifest with its error. The next build tries it again.
    """
    jobs = list(jobs)
    missing = [job for job in jobs if not (out / job.archive).exists()]
    failed: dict[str, str] = {}
    source = (
        _on_ray(missing, ray_address)
        if ray_address
        else on_cores(missing, processes or os.cpu_count() or 1, make, PRELOADED)
    )
    done = len(jobs) - len(missing)
    try:
        for job, archive, error in source:
            if archive is not None:
                _write(out / job.archive, archive)
                done += 1
            else:
                failed[job.archive] = error
            report(Progress(done, len(jobs), len(failed), job, error or None))
    finally:  # also after an interrupted build, so that the manifest matches the archives
        manifest = write_manifest(out, failed)
    return manifest


# Reading ----------------------------------------------------------------------------------------------------------------


def archives(folder: Path) -> list[str]:
    """The runs of a corpus, relative to its folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.tar.xz"))


def labels(folder: Path) -> dict[str, Label]:
    """The label of every run of a corpus, by archive."""
    return {archive: label_of(folder, archive) for archive in archives(folder)}


def label_of(folder: Path, archive: str) -> Label:
    """The label of one run."""
    with tarfile.open(folder / archive) as packed:
        content = packed.extractfile("label.json")
        assert content is not None
        return label_from(json.load(content))


@contextmanager
def opened(folder: Path, archive: str) -> Iterator[tuple[Path, Label]]:
    """A run of a corpus, unpacked into a temporary folder until the context ends: its folder and its label."""
    with tempfile.TemporaryDirectory() as scratch:
        unpack(folder / archive, Path(scratch))
        yield Path(scratch) / "run", read_label(Path(scratch))


def runs(folder: Path, wanted: Callable[[Label], bool] = lambda label: True) -> Iterator[tuple[Label, Run]]:
    """Every run of a corpus as firstbreak reads it from disk. Read its samples before you ask for the next run."""
    for archive, label in labels(folder).items():
        if wanted(label):
            with opened(folder, archive) as (path, _):
                yield label, read(path)


def until(run: Run, step: float) -> Run:
    """The run up to a step, as it was logged then."""
    series = {name: s.between(-np.inf, step) for name, s in run.series.items()}
    samples = run.samples
    if samples is not None:
        whole = samples
        samples = Samples(lambda: (s for s in whole if s.step is None or s.step <= step), whole.sources)
    return replace(run, series={name: s for name, s in series.items() if len(s)}, samples=samples)


# Making one run ------------------------------------------------------------------------------------------------------


def make(job: Job) -> bytes:
    """Train one run and return its archive. The same files always give the same archive."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run(job.variant, out=folder, seed=job.seed, severity=job.severity, base=job.base, options=SHORTER.get(job.base))
        return _pack(folder)


def _pack(folder: Path) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as packed:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            if "tfevents" in path.name:  # the same numbers as progress.csv, in a file that is twenty times larger
                continue
            content = _rounded(path.read_bytes()) if path.name in FULL_PRECISION else path.read_bytes()
            info = tarfile.TarInfo(str(path.relative_to(folder)))
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return lzma.compress(plain.getvalue(), preset=9)


FULL_PRECISION = frozenset({"progress.csv", "trainer_state.json"})  #: files that store sixteen digits of every number
_FRACTION = re.compile(rb"-?\d+\.\d+(?:e[+-]?\d+)?")


def _rounded(content: bytes) -> bytes:
    """Fractions are rounded to five significant digits. Whole numbers (steps) stay unchanged."""
    return _FRACTION.sub(lambda match: b"%.5g" % float(match[0]), content)


def _write(path: Path, archive: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(archive)
    partial.replace(path)


# Where runs are made -------------------------------------------------------------------------------------------------

J = TypeVar("J")
R = TypeVar("R")
JobResult = tuple[J, R | None, str]  #: the job, its result, or the error

#: torch._dynamo: the first optimizer of a process imports it, a fifth of a short run's time
PRELOADED = ("firstbreak_lab.language.trainer", "stable_baselines3", "torch._dynamo")


def on_cores(
    jobs: Iterable[J], processes: int, work: Callable[[J], R], modules: Iterable[str]
) -> Iterator[JobResult[J, R]]:
    """Each job in a new process, forked from a process that has already imported these modules and has no threads.

    A pool would stop completely if one of its processes is killed, and a run may be killed because it needs too much memory.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    waiting, running = deque(jobs), dict[Connection, tuple[J, BaseProcess]]()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                mine, theirs = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=_send, args=(theirs, work, waiting[0]))
                process.start()
                theirs.close()
                running[mine] = waiting.popleft(), process
            for ready in connection.wait(list(running)):
                assert isinstance(ready, Connection)
                job, finished = running.pop(ready)
                yield job, *_received(ready)
                finished.join()
    finally:
        for _, unfinished in running.values():
            unfinished.terminate()


def _send(pipe: Connection, work: Callable[[J], R], job: J) -> None:
    try:
        pipe.send((work(job), ""))
    except Exception as error:  # one failed run must not stop the others
        pipe.send((None, _line(error)))


def _received(pipe: Connection) -> tuple[Any, str]:
    try:
        result, error = pipe.recv()
        return result, error
    except EOFError:
        return None, "its process was killed"


def _on_ray(jobs: list[Job], address: str) -> Iterator[JobResult[Job, bytes]]:
    import ray

    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    remote = ray.remote(num_cpus=1, max_calls=1)(make)  # max_calls: a new process for each run
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


def write_manifest(out: Path, failed: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Write and return the manifest of the corpus in `out`: command, versions, and the label and SHA-256 of every run."""
    manifest = {
        "command": "firstbreak lab build",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {package: _version(package) for package in PACKAGES},
        "shorter": {base: dict(options) for base, options in SHORTER.items()},
        "failed": dict(failed),
        "runs": {
            archive: {"sha256": hashlib.sha256((out / archive).read_bytes()).hexdigest(), "label": asdict(label)}
            for archive, label in labels(out).items()
        },
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
