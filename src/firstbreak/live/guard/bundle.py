"""Writes the evidence of one incident: a folder that is complete, or does not exist.

All files are written into a hidden folder beside the final one, flushed to the disk, and then the folder is renamed. If
the process is killed at any moment, the last complete bundle remains, and the next guard removes the hidden folder. A
file that cannot be written (the disk is full, an optimizer cannot be saved) is listed under `lost`, and the other files
are written. Small files come first, so that the diagnosis is written even if the disk has no space for the model.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from firstbreak.readers import Unreadable, why
from firstbreak.readers.opening import beneath, open_raw, read_whole

SCHEMA = "firstbreak.incident/1"
MANIFEST = "bundle.json"
MAX_MANIFEST = 1 << 26  #: bytes
HALF = ".half"  #: ends the name of a bundle that is being written
_REMEDY = "give the folder that the guard printed"

#: what the manifest holds, as far as it is relied on
_SHAPE: Mapping[str, type] = {
    "files": dict,
    "lost": dict,
    "measured": dict,
    "reason": str,
    "adapter": str,
    "exact": bool,
}

FileContent = bytes | Callable[[BinaryIO], object]  #: the content of a file, or a function that writes the file


def write(folder: Path, name: str, contents: Mapping[str, FileContent], about: Mapping[str, Any]) -> Path:
    """Write a bundle below `folder`, which is created if needed. Returns the folder of the bundle.

    `contents` are the files by name. `about` is added to the manifest. Raises OSError if the manifest cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", suffix=HALF, dir=folder))
        mine = _handle(scratch)
        _lock(mine)
    try:
        files: dict[str, Any] = {}
        lost: dict[str, str] = {}
        for file in sorted(contents, key=lambda n: not isinstance(contents[n], bytes)):
            try:
                files[file] = _put(scratch / file, contents[file])
            except Exception as error:  # the other files are still written
                (scratch / file).unlink(missing_ok=True)
                lost[file] = f"{type(error).__name__}: {error}"
        manifest = {"schema": SCHEMA, "name": name, **about, "files": files, "lost": lost}
        _put(scratch / MANIFEST, json.dumps(manifest, indent=1, default=str).encode())
        _flush(scratch)
        names = (name, *(f"{name}-{i}" for i in range(2, 1000)))
        target = next(folder / n for n in names if not (folder / n).exists())
        scratch.rename(target)
        _flush(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    finally:
        os.close(mine)
    return target


def sweep(folder: Path) -> None:
    """Remove what killed writers have left half written below a folder. A folder that is still written to is locked."""
    with contextlib.suppress(OSError), _alone(folder) as locked:
        for half in folder.glob(f".*{HALF}") if locked else ():
            with _opened(half, os.O_NOFOLLOW) as handle:
                if _lock(handle, wait=False):
                    shutil.rmtree(half, ignore_errors=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """No other writer begins, and none is swept, meanwhile. Whether the system can see to it."""
    with _opened(folder) as handle:
        yield _lock(handle)


@contextlib.contextmanager
def _opened(folder: Path, flags: int = 0) -> Iterator[int]:
    handle = _handle(folder, flags)
    try:
        yield handle
    finally:
        os.close(handle)


def _handle(folder: Path, flags: int = 0) -> int:
    return os.open(folder, os.O_RDONLY | flags)


def _lock(handle: int, *, wait: bool = True) -> bool:
    """Lock a folder for as long as its handle is open. False where another process has, or where the system cannot."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def _put(path: Path, content: FileContent) -> dict[str, Any]:
    with path.open("w+b") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(file)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _flush(folder: Path) -> None:
    """Flush a folder: a rename or a new file is on the disk only after its folder was flushed."""
    with _opened(folder) as handle:
        os.fsync(handle)


def read(bundle: Path) -> dict[str, Any]:
    """The manifest of a bundle. Raises `Unreadable` if it is malformed, or a file is missing or was changed."""
    path = bundle / MANIFEST
    try:
        with beneath(bundle):
            manifest = json.loads(read_whole(path, MAX_MANIFEST))
    except (ValueError, RecursionError) as error:
        raise Unreadable(path, f"cannot be read ({why(error)})", _REMEDY) from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise Unreadable(path, f"is not a bundle with the schema {SCHEMA}", _REMEDY)
    manifest = {key: wanted() for key, wanted in _SHAPE.items()} | manifest
    for key, wanted in _SHAPE.items():
        if not isinstance(manifest[key], wanted):
            raise Unreadable(path, f"is not a manifest: {key!r} is no {wanted.__name__}", _REMEDY)
    for name, expected in manifest["files"].items():
        part = bundle / name
        if not isinstance(expected, dict) or Path(name).name != name or "\0" in name:
            raise Unreadable(path, f"is not a manifest: it names no file ({name[:80]})", _REMEDY)
        if not os.path.lexists(part):
            raise Unreadable(part, "is missing", "copy the whole bundle again")
        with part_of(part) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected.get("sha256"):
                raise Unreadable(part, "has changed since it was written", "copy the whole bundle again")
    return manifest


def part_of(path: Path) -> io.BufferedReader:
    """A file of a bundle, as it lies there. Raises Unreadable where it is none, or a link out of the bundle."""
    with beneath(path.parent):
        return open_raw(path)


def complete(folder: Path) -> list[Path]:
    """The complete bundles below a folder, the oldest first. Incomplete ones of a killed process are in hidden folders."""
    found = [path.parent for path in folder.glob(f"[!.]*/{MANIFEST}")]
    return sorted(found, key=lambda path: path.stat().st_mtime)


class Writing:
    """Writes a bundle in the background, so that a disk that hangs does not block training."""

    def __init__(self, job: Callable[[], Path]) -> None:
        self.path: Path | None = None
        self.error: Exception | None = None
        self._job = job
        self._thread = threading.Thread(target=self._run, name="firstbreak-bundle", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`. Returns whether writing has ended, with or without an error."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.path = self._job()
        except Exception as error:
            self.error = error
