"""Damaged, hostile and wrong input, through the command line: exit 2 with one line, or the whole part with the damage stated."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.test_cli import firstbreak, healthy


class Detonator:
    """An object whose unpickling leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.trace,))


def bomb(path: Path) -> None:
    """A small archive that unpacks to eight gigabytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**30,)})
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("results.npy", "w", force_zip64=True) as f,
    ):
        f.write(header.getvalue())
        f.write(bytes(1 << 26))


def pickled(path: Path) -> None:
    """An array of objects, which NumPy could only load by unpickling."""
    np.savez(path, results=np.array([Detonator(path.parent / "exploded")], dtype=object))


CASES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a header of ten million columns": ("progress.csv", lambda p: p.write_text(",".join(["a"] * 10_000_000) + "\n1\n")),
    "an archive that unpacks to far more": ("evaluations.npz", bomb),
    "an array that needs unpickling": ("evaluations.npz", pickled),
    "a pickle": ("training_args.bin", lambda p: p.write_bytes(pickle.dumps(Detonator(p.parent / "exploded")))),
    "a JSON cut in the middle": ("trainer_state.json", lambda p: p.write_text('{"log_history": [{"step": 1, "rew')),
    "JSON nested a million deep": ("metrics.jsonl", lambda p: p.write_text("[" * 1_000_000)),
    "random bytes": ("events.out.tfevents.1.host", lambda p: p.write_bytes(np.random.default_rng(0).bytes(100_000))),
    "one line of fifty megabytes": ("log.txt", lambda p: p.write_bytes(b"x" * 50_000_000)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, case: str) -> None:
    name, make = CASES[case]
    make(tmp_path / name)
    done = firstbreak("diagnose", str(tmp_path / name))
    assert done.returncode == 2, done.stdout[-500:]
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert name in line
    assert len(line) < 500
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "case", ["an archive that unpacks to far more", "an array that needs unpickling", "random bytes"]
)
def test_what_is_whole_beside_it_is_diagnosed_and_the_damage_stated(tmp_path: Path, case: str) -> None:
    healthy(tmp_path)
    name, make = CASES[case]
    make(tmp_path / name)
    done = firstbreak("diagnose", str(tmp_path), "--format", "json")
    assert done.returncode == 2, done.stderr  # what was lost may have been the score
    diagnosis = json.loads(done.stdout)
    assert diagnosis["verdict"]["summary"].startswith(f"Cannot tell: `{name}`")
    assert "reward.mean" in diagnosis["run"]["metrics"]
    assert name in json.dumps(diagnosis["run"])
    assert not (tmp_path / "exploded").exists()
