"""The one way in which a file of a run is opened: a regular file beneath the folder that was given, unpacked and in UTF-8.

Links that lead out of the folder are not followed: a run that was downloaded may hold any. Gzip, bzip2, xz and zstd are
unpacked, and UTF-16 and byte order marks are taken off, into a temporary file, so that readers can seek in it as in any other.
What cannot be opened raises `Unreadable`, so that it is named and never passes for absent.
"""

import atexit
import codecs
import importlib
import io
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO, cast

from firstbreak.readers import Unreadable

HEAD_BYTES = 4096
CONTEXT = "firstbreak-context.json"  #: what `firstbreak.context` writes beside a run
MAX_UNPACKED = 1 << 31  #: bytes
_CHUNK = 1 << 20
_ROWS = {".csv", ".tsv", ".jsonl"}  #: whose lines end in a carriage return alone where a spreadsheet saved them so
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst)$", re.IGNORECASE)
_ENCODED = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_PIPE = re.compile(r"-|/dev/stdin|/(?:dev|proc/self)/fd/\d+")
ALLOW = "FIRSTBREAK_ALLOW_ROOT"  #: folders that links of a run may lead to, as in PATH; `--allow-root` sets it
_BY_FOLDER = os.open in os.supports_dir_fd  #: not on Windows
_ROOTS: ContextVar[tuple[Path, ...]] = ContextVar("roots", default=())


def roots_of(place: Path) -> tuple[Path, ...]:
    """What a run's files may be read from: the folder of what the user gave, itself followed if it is a link, and ALLOW.

    Inside of a server, what it serves.
    """
    folder = place if place.is_dir() else place.parent
    allowed = (Path(root) for root in os.environ.get(ALLOW, "").split(os.pathsep) if root)
    return _ROOTS.get() or tuple(path.resolve() for path in (folder, place, *allowed))


@contextmanager
def beneath(*roots: Path) -> Iterator[None]:
    """Files are opened below these folders only, and those of a `beneath` round this one: a server allows its own folder."""
    with beneath_resolved(_ROOTS.get() or tuple(root.resolve() for root in roots)):
        yield


@contextmanager
def beneath_resolved(roots: tuple[Path, ...]) -> Iterator[None]:
    """As `beneath`, with folders that `roots_of` gave: to resolve them for each sample takes longer than to read it."""
    token = _ROOTS.set(_ROOTS.get() or roots)
    try:
        yield
    finally:
        _ROOTS.reset(token)


def leads_out(path: Path) -> Unreadable | None:
    """What is said of a path that is a link out of the folders that are allowed."""
    real, roots = Path(os.path.realpath(path)), _ROOTS.get()  # Path.resolve raises where links go round
    if not roots or any(real.is_relative_to(root) for root in roots):
        return None
    remedy = f"if you trust it: --allow-root {real if path.is_dir() else real.parent}"
    return Unreadable(path, "is a link out of the folder, and was not followed", remedy)


def open_file(path: Path) -> BinaryIO:
    """A file's bytes, to read and to seek in. Raises `Unreadable` where it is no regular file or cannot be unpacked."""
    with ExitStack() as unused:
        file = unused.enter_context(open_raw(path))
        stream = _decoded(file, path)
        if stream is file:
            unused.pop_all()
            return file
        return _on_disk(stream, path)


def read_whole(path: Path, limit: int) -> bytes:
    """All bytes of a file of at most `limit` bytes. Raises Unreadable where it is larger."""
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise Unreadable(path, f"is larger than {limit >> 20} MiB", "check that this is the file you meant")
        return file.read()


def head_of(path: Path) -> bytes:
    """The first 4 KiB. Raises `Unreadable`."""
    with open_raw(path) as file:
        try:
            return _decoded(file, path).read(HEAD_BYTES)
        except _broken() as error:
            raise _damaged(path, error) from None


def plain(path: Path) -> Path:
    """The name of the file that is packed in this one: `progress.csv` of `progress.csv.gz`."""
    return path.with_name(_PACKED.sub("", path.name) or path.name)


def open_raw(path: Path) -> io.BufferedReader:
    """A regular file as it lies on the disk. Raises `Unreadable`.

    What it is, is asked of what was opened: a path may be swapped in between.
    """
    if path.is_dir():
        raise Unreadable(path, "is a directory, not a file", "give the file inside it, or the run's folder to diagnose")
    try:
        # without O_NONBLOCK, opening a pipe waits for its writer
        handle = _handle(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        said = f"cannot be opened: {error.strerror or error}"
        raise Unreadable(path, said, "check that the file exists and that you may read it") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Unreadable(path, "is no regular file", "copy what it holds into a file")
    return os.fdopen(handle, "rb")


def piped(path: str) -> Path | None:
    """The copy of what comes out of a pipe without a name, as `-` or `<(command)` give it; none inside of a server."""
    return None if _ROOTS.get() else _copied(path)


@cache
def _copied(path: str) -> Path | None:
    """The copy has the ending of what it holds: a pipe can be read once."""
    if not _PIPE.fullmatch(path) or not (path == "-" or stat.S_ISFIFO(os.stat(path).st_mode)):
        return None
    import tempfile

    with open(0 if path == "-" else path, "rb", closefd=path != "-") as pipe:
        copy = _on_disk(pipe, Path(path))
    head = copy.read(HEAD_BYTES)
    first, _, rest = head.partition(b"\n")
    table = b"," in first and first.count(b",") == rest.partition(b"\n")[0].count(b",") and b":" not in first
    ending = "jsonl" if head.lstrip().startswith(b'{"') else "csv" if table else "log"
    folder = tempfile.mkdtemp(prefix="firstbreak-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Path(folder, f"pipe.{ending}").open("wb") as file:
        copy.seek(0)
        shutil.copyfileobj(copy, file)
    return Path(file.name)


def _handle(path: Path, flags: int) -> int:
    """Opened folder by folder from an allowed root without following a link, so that nothing can be swapped in on the way."""
    if problem := leads_out(path):
        raise problem
    real = Path(os.path.realpath(path))
    root = next((root for root in _ROOTS.get() if real != root and real.is_relative_to(root)), None)
    if root is None or not _BY_FOLDER:
        return os.open(path, flags)
    *folders, name = real.relative_to(root).parts
    with ExitStack() as handles:
        here = os.open(root, os.O_RDONLY)
        handles.callback(os.close, here)
        for folder in folders:
            here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            handles.callback(os.close, here)
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=here)


def _decoded(file: BinaryIO, path: Path) -> BinaryIO:
    """The file itself, or a stream of its text in UTF-8 without a mark."""
    start = _peek(file)
    unpack = next((name for magic, name in _UNPACK.items() if start.startswith(magic)), None)
    if unpack is not None:
        try:
            file = _zstd(file) if unpack == "zstd" else importlib.import_module(unpack).open(file)
            start = _peek(file)
        except ImportError:
            raise Unreadable(path, "compressed with zstd", "pip install zstandard, or unpack it first") from None
        except _broken() as error:
            raise _damaged(path, error) from None
    encoding = next((name for mark, name in _ENCODED.items() if start.startswith(mark)), None)
    if plain(path).suffix.lower() in _ROWS and b"\r" in (head := _peek(file, HEAD_BYTES)) and b"\n" not in head:
        return cast(BinaryIO, SimpleNamespace(read=lambda size: file.read(size).replace(b"\r", b"\n")))
    return file if encoding is None else cast(BinaryIO, codecs.EncodedFile(file, "utf-8", encoding, "replace"))


def _peek(file: BinaryIO, size: int = 6) -> bytes:
    return cast(io.BufferedReader, file).peek(size)[:size]


def _on_disk(stream: BinaryIO, path: Path) -> BinaryIO:
    import tempfile

    with ExitStack() as unused:
        unpacked = unused.enter_context(tempfile.TemporaryFile(prefix="firstbreak-"))
        try:
            while chunk := stream.read(_CHUNK):
                unpacked.write(chunk)
                if unpacked.tell() > MAX_UNPACKED:
                    raise Unreadable(path, f"unpacks to more than {MAX_UNPACKED >> 30} GiB", "unpack it first")
        except _broken() as error:
            raise _damaged(path, error) from None
        unpacked.seek(0)
        unused.pop_all()
        return cast(BinaryIO, unpacked)


def _broken() -> tuple[type[Exception], ...]:
    """What unpacking raises. Imported where it has."""
    import lzma
    import zlib

    return OSError, EOFError, zlib.error, lzma.LZMAError, ValueError


def _damaged(path: Path, error: Exception) -> Unreadable:
    return Unreadable(path, f"cannot be unpacked ({error})", "copy the file again, or unpack it first")


def _zstd(file: BinaryIO) -> BinaryIO:
    import zstandard  # type: ignore[import-not-found]

    return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))


#: how a packed file begins -> the module that unpacks it, imported where one does
_UNPACK = {b"\x1f\x8b\x08": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma", b"\x28\xb5\x2f\xfd": "zstd"}
