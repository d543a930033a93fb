"""Makes many seeds, and stores them in packs of 50: `<first seed>.tar.xz` with `<seed>/run/...` and `<seed>/label.json`.

A seed that is there is not made again, so that a build that was stopped at any time is continued by the same command. A seed
whose family is not installed, or that failed, is left to a later build, which adds it to its pack.
"""

import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from firstbreak_lab.archives import unpack
from firstbreak_lab.corpus import on_cores
from firstbreak_lab.population.draw import families, family_of, make
from firstbreak_lab.population.family import PopulationLabel

SIZE = 50  #: seeds of a pack


def build(
    out: Path, seeds: Iterable[int], processes: int = 1, report: Callable[[str], None] = lambda line: None
) -> dict[int, str]:
    """Make the seeds that are missing in `out`. Returns the error of each seed that failed.

    Each run has its own process and one thread. `report` gets a line after each pack, and for each seed that failed.
    """
    out.mkdir(parents=True, exist_ok=True)
    failed: dict[int, str] = {}
    blocks: dict[int, list[int]] = {}
    for seed in seeds:
        blocks.setdefault(seed // SIZE * SIZE, []).append(seed)
    for first, block in blocks.items():
        there = made(out, first)
        missing = [s for s in block if s not in there and family_of(s) in families()]
        waiting = [s for s in missing if not (_folder(out, s) / "label.json").exists()]
        for seed, _, error in on_cores(waiting, processes, partial(_make, out), list(_modules())):
            if error:
                failed[seed] = error
                report(f"seed {seed} failed: {error}")
        if missing:
            pack(out, first, missing)
            report(_line(out, first, len(missing)))
    return failed


def pack(out: Path, first: int, seeds: Iterable[int]) -> None:
    """Move the finished runs of these seeds into their pack."""
    done = [seed for seed in seeds if (_folder(out, seed) / "label.json").exists()]
    partial_pack = pack_path(out, first).with_suffix(".partial")
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        if pack_path(out, first).exists():
            unpack(pack_path(out, first), Path(scratch))
        for seed in done:
            shutil.copytree(_folder(out, seed), Path(scratch) / str(seed), dirs_exist_ok=True)
        with tarfile.open(partial_pack, "w:xz", preset=9) as packed:
            for path in sorted(Path(scratch).rglob("*")):
                if path.is_file():
                    packed.add(path, path.relative_to(scratch), filter=_plain)
    partial_pack.replace(pack_path(out, first))
    for seed in done:
        shutil.rmtree(_folder(out, seed))


def packs(folder: Path) -> list[Path]:
    """The packs of a population, in the order of their seeds."""
    return sorted(folder.glob("*.tar.xz"))


@contextmanager
def unpacked(path: Path) -> Iterator[list[tuple[Path, PopulationLabel]]]:
    """The runs of a pack, as folders that exist until the context ends, each with its label."""
    with tempfile.TemporaryDirectory() as scratch:
        unpack(path, Path(scratch))
        folders = sorted(Path(scratch).iterdir(), key=lambda folder: int(folder.name))
        yield [(each / "run", PopulationLabel(**json.loads((each / "label.json").read_text()))) for each in folders]


def made(folder: Path, first: int) -> dict[int, PopulationLabel]:
    """The labels of the pack that begins with this seed; none if there is no pack."""
    if not pack_path(folder, first).exists():
        return {}
    with unpacked(pack_path(folder, first)) as runs:
        return {label.seed: label for _, label in runs}


def pack_path(folder: Path, first: int) -> Path:
    """Where the pack that begins with this seed is."""
    return folder / f"{first:06d}.tar.xz"


def _make(out: Path, seed: int) -> str:
    """Make one seed in its folder, which appears once it is whole. Returns the name of its family."""
    unfinished = _folder(out, seed).with_suffix(".partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    label = make(seed, unfinished)
    (unfinished / "cost").write_text(str(sum(os.times()[:2])))
    unfinished.replace(_folder(out, seed))
    return label.family


def _folder(out: Path, seed: int) -> Path:
    return out / f"{seed}"


def _modules() -> Iterator[str]:
    """What a run imports; torch._dynamo: the first optimiser of a process imports it."""
    yield from ("torch._dynamo", "torch.utils.tensorboard")
    yield from (f"firstbreak_lab.population.families.{name.replace('-', '_')}" for name in families())


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


def _line(out: Path, first: int, tried: int) -> str:
    costs: dict[str, list[float]] = {}
    with unpacked(pack_path(out, first)) as runs:
        for run, label in runs:
            costs.setdefault(label.family, []).append(float((run.parent / "cost").read_text()))
    each = ", ".join(f"{name} {sum(spent) / len(spent):.1f}" for name, spent in sorted(costs.items()))
    n = sum(map(len, costs.values()))
    return (
        f"seeds {first} to {first + SIZE - 1}: {n} runs, {tried} of them tried now; mean CPU seconds of a seed: {each}"
    )
