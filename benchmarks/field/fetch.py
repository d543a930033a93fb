"""The files of the field: from GitHub or from clones that lie here, each checked against the index."""

import hashlib
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from os.path import commonpath
from pathlib import Path, PurePosixPath

from benchmarks.field.index import Reading

Source = Callable[[Reading, str], bytes | None]
RAW = "https://raw.githubusercontent.com"
SECONDS = 60


def bring(reading: Reading, into: Path, source: Source) -> Path | None:
    """The folder with the files of a run, or None where one cannot be had or is not what was read."""
    folder = into / reading.id
    if folder.is_dir():
        return folder
    contents = []
    for path, blob in zip(reading.paths, reading.blobs, strict=True):
        content = source(reading, path)
        if content is None or git_hash(content) != blob:
            return None
        contents.append((path, content))
    if not reading.commit:
        contents = [(f"text-{i}.log", content) for i, (_, content) in enumerate(contents)]
    top = commonpath([str(PurePosixPath(path).parent) for path, _ in contents] or [""])
    half = folder.with_suffix(".part")
    shutil.rmtree(half, ignore_errors=True)
    for path, content in contents:
        there = half / PurePosixPath(path).relative_to(top)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(content)
    half.rename(folder)
    return folder


def git_hash(content: bytes) -> str:
    """What `git hash-object` says of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def github(reading: Reading, path: str) -> bytes | None:
    """A file from GitHub, as it was at the commit."""
    address = f"{RAW}/{reading.repository}/{reading.commit}/{urllib.parse.quote(path)}"
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            return bytes(answer.read())
    except (urllib.error.URLError, TimeoutError):
        return None


def clones(folder: Path) -> Source:
    """Files from clones: FOLDER/owner+name, or a git directory below it."""

    def source(reading: Reading, path: str) -> bytes | None:
        clone = folder / reading.repository.replace("/", "+")
        found = next(
            (head.parent for head in sorted(clone.glob("**/HEAD")) if (head.parent / "objects").is_dir()), None
        )
        if found is None:
            return None
        shown = subprocess.run(
            ["git", f"--git-dir={found}", "cat-file", "blob", f"{reading.commit}:{path}"],
            capture_output=True,
            check=False,
        )
        return shown.stdout if shown.returncode == 0 else None

    return source


def texts(folder: Path) -> Source:
    """Texts of threads that a person has kept: FOLDER/<hash>.log."""

    def source(reading: Reading, path: str) -> bytes | None:
        kept = folder / f"{reading.blobs[reading.paths.index(path)]}.log"
        return kept.read_bytes() if kept.is_file() else None

    return source
