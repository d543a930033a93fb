"""Writes the evidence of one incident: a folder that is complete, or does not exist.

All files are written into a hidden folder beside the final one, flushed to the disk, and then the folder is renamed. If the
process is killed at any moment, the last complete bundle remains. A file that cannot be written (the disk is full, an
optimizer cannot be saved) is listed under `lost`, and the other files are written. Small files come first, so that the
diagnosis is written even if the disk has no space for the model.
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

FileContent = bytes | Callable[[BinaryIO], None]  #: the content of a file, or a function that writes the file


def write(folder: Path, name: str, contents: Mapping[str, FileContent], about: Mapping[str, Any]) -> Path:
    """Write a bundle below `folder`, which is created if needed. Returns the folder of the bundle.

    `contents` are the files by name. `about` is added to the manifest. Raises OSError if the manifest cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder))
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
        target = _free(folder, name)
        scratch.rename(target)
        _flush(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target


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
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _free(folder: Path, name: str) -> Path:
    names = [name, *(f"{name}-{i}" for i in range(2, 1000))]
    return folder / next(n for n in names if not (folder / n).exists())


def read(bundle: Path) -> dict[str, Any]:
    """The manifest of a bundle. Raises `Unreadable` if a file is missing or was changed."""
    path = bundle / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Unreadable(path, f"cannot be read ({why(error)})", "give the folder that the guard printed") from None
    if manifest.get("schema") != SCHEMA:
        raise Unreadable(path, f"is not a bundle with the schema {SCHEMA}", "give the folder that the guard printed")
    for name, expected in manifest["files"].items():
        path = bundle / name
        if not path.is_file():
            raise Unreadable(path, "is missing", "copy the whole bundle again")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected["sha256"]:
                raise Unreadable(path, "has changed since it was written", "copy the whole bundle again")
    return manifest


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
