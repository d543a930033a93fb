"""The evidence of one incident: a folder that is there whole, or not at all.

Everything is written into a hidden folder beside the final one, flushed to the disk, and then renamed: whoever kills the
process at any moment finds the last whole bundle, or none. A part that cannot be written (the disk is full, an optimizer
that cannot be saved) is listed as lost, and the others are kept; small parts come first, so that the diagnosis survives
a disk that has no room for the model.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from firstbreak.readers import Unreadable, why

SCHEMA = "firstbreak.incident/1"
MANIFEST = "bundle.json"

Part = bytes | Callable[[BinaryIO], None]  #: the content of a file, or what writes it


def write(folder: Path, name: str, parts: Mapping[str, Part], about: Mapping[str, Any]) -> Path:
    """Write a bundle below `folder`, which is made where it is missing; the bundle's folder.

    `parts` are files by name; `about` goes into the manifest. Raises OSError where not even the manifest can be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder))
    try:
        files: dict[str, Any] = {}
        lost: dict[str, str] = {}
        for part in sorted(parts, key=lambda n: not isinstance(parts[n], bytes)):
            try:
                files[part] = _put(scratch / part, parts[part])
            except Exception as error:  # one part that cannot be written must not cost the others
                (scratch / part).unlink(missing_ok=True)
                lost[part] = f"{type(error).__name__}: {error}"
        manifest = {"schema": SCHEMA, "name": name, **about, "files": files, "lost": lost}
        _put(scratch / MANIFEST, json.dumps(manifest, indent=1, default=str).encode())
        _flush(scratch)
        target = _free(folder, name)
        scratch.rename(target)
        _flush(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target


def _put(path: Path, content: Part) -> dict[str, Any]:
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
    """A rename or a new file is on the disk only once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _free(folder: Path, name: str) -> Path:
    names = [name, *(f"{name}-{i}" for i in range(2, 1000))]
    return folder / next(n for n in names if not (folder / n).exists())


def read(bundle: Path) -> dict[str, Any]:
    """The manifest of a bundle whose files are all there and unchanged. Raises `Unreadable` otherwise."""
    path = bundle / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Unreadable(path, f"cannot be read ({why(error)})", "give the folder that the guard has named") from None
    if manifest.get("schema") != SCHEMA:
        raise Unreadable(path, f"is not a bundle of schema {SCHEMA}", "give the folder that the guard has named")
    for name, expected in manifest["files"].items():
        part = bundle / name
        if not part.is_file():
            raise Unreadable(part, "is missing", "copy the bundle again, as a whole")
        with part.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected["sha256"]:
                raise Unreadable(part, "has changed since it was written", "copy the bundle again, as a whole")
    return manifest


def whole(folder: Path) -> list[Path]:
    """The bundles below a folder, the oldest first. What a killed process left half-written is hidden, and not among them."""
    found = [path.parent for path in folder.glob(f"[!.]*/{MANIFEST}")]
    return sorted(found, key=lambda path: path.stat().st_mtime)


class Writing:
    """A bundle that is being written in the background: a disk that hangs must not hold up training."""

    def __init__(self, job: Callable[[], Path]) -> None:
        self.path: Path | None = None
        self.error: Exception | None = None
        self._job = job
        self._thread = threading.Thread(target=self._run, name="firstbreak-bundle", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it is done, well or badly, after at most so long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.path = self._job()
        except Exception as error:
            self.error = error
