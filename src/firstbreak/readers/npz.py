"""Archives of NumPy arrays (`numpy.savez`), first of all `evaluations.npz` of Stable-Baselines3's EvalCallback.

The array `timesteps` (n,) is the index of all others. A (n, k) array holds k episodes of each evaluation and becomes
five curves: `results/mean`, `results/std`, `results/min`, `results/max`, `results/count`.
Source: stable_baselines3/common/callbacks.py
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._npy import MAX_BYTES, read_array
from firstbreak.readers.opening import open_file

DESCRIPTION = "evaluations.npz of Stable-Baselines3, and other archives of NumPy arrays"
FILES = ("*.npz",)

_AXES = ("timesteps", "steps", "step", "iterations", "epochs")
_EPISODES: dict[str, Callable[..., np.ndarray]] = {
    "mean": np.mean,
    "std": np.std,
    "min": np.min,
    "max": np.max,
    "count": lambda episodes, axis: np.full(len(episodes), float(episodes.shape[axis])),
}
_REWRITTEN = ("is cut or being rewritten", "try again when the writer is done")


def sniff(path: Path, head: bytes) -> bool:
    """A zip file named .npz."""
    return path.suffix == ".npz" and head.startswith(b"PK")


def read(path: Path, resume: Any = None) -> Recording:
    """All arrays, whole each time: the writer saves them whole."""
    with open_file(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                arrays = {m.filename.removesuffix(".npy"): _array(archive, m, path) for m in _members(archive, path)}
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError):
            raise Unreadable(path, *_REWRITTEN) from None
    axis = next((name for name in _AXES if name in arrays and arrays[name].ndim == 1), None)
    recording = Recording(format="npz", indexed_by="step" if axis else "row", axis=axis or "")
    for name, values in arrays.items():
        if name == axis:
            continue
        index = arrays[axis] if axis else np.arange(len(np.atleast_1d(values)), dtype=float)
        if values.ndim not in (1, 2) or len(values) != len(index) or not values.size:
            recording.notes.append(f"{name}: shape {values.shape} is no curve, left out")
            continue
        recording.curves.update({name + part: Curve(index=index, values=curve) for part, curve in _curves(values)})
    return recording


def _members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    """The arrays of the archive. Raises Unreadable where they claim to unpack to too much."""
    members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise Unreadable(path, "is compressed in a way that NumPy does not write", "save it with numpy.savez")
    total = sum(member.file_size for member in members)
    if total > 2 * MAX_BYTES:
        remedy = f"archives up to {2 * MAX_BYTES >> 20} MiB are read"
        raise Unreadable(path, f"unpacks to {total >> 20} MiB", remedy)
    return members


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> np.ndarray:
    with archive.open(member) as file:
        return read_array(file, member.file_size, path, member.filename)


def _curves(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """("", values) of a 1-D array; ("/mean", ...) and the other summaries over the episodes of a 2-D array."""
    if values.ndim == 1:
        yield "", values
    else:
        with np.errstate(all="ignore"):  # NaN and infinities are results like any other
            for name, summary in _EPISODES.items():
                yield f"/{name}", summary(values, axis=1)
