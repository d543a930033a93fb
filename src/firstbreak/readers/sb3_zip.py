"""A model that Stable-Baselines3 saved: of the archive, only the hyperparameters in its member `data` are read, as JSON.

What SB3 pickled (":serialized:") is left alone, and the weights are not opened. Source: stable_baselines3/common/save_util.py
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import leaves
from firstbreak.readers._json import loads
from firstbreak.readers.opening import open_file

DESCRIPTION = "hyperparameters in the model.zip of Stable-Baselines3; nothing in it is unpickled"
FILES = ("*.zip",)
BESIDE = True
MAX_BYTES = 1 << 24  #: of `data` when unpacked; SB3 writes some tens of kilobytes

_MEMBER = "data"
_VERSION = "_stable_baselines3_version"
_PROGRESS = frozenset({"num_timesteps", "start_time", "n_updates", "verbose", "tensorboard_log", "device"})


def sniff(path: Path, head: bytes) -> bool:
    """A .zip whose first member is `data`."""
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return path.suffix.lower() == ".zip" and head.startswith(b"PK\x03\x04") and name == _MEMBER.encode()


def read(path: Path, resume: Any = None) -> Recording:
    """The options that are numbers, texts or truth values, nested names joined with "."."""
    try:
        with open_file(path) as packed, zipfile.ZipFile(packed) as archive:
            member = archive.getinfo(_MEMBER)
            with archive.open(member) as file:
                data = file.read(MAX_BYTES + 1)
            version = _version(archive)
    except Exception as error:  # BadZipFile, KeyError, zlib.error, LZMAError, ...
        raise Unreadable(path, f"cannot be unpacked ({error})", "save or copy the model again") from None
    if len(data) > MAX_BYTES:
        raise Unreadable(path, f"its data is larger than {MAX_BYTES >> 20} MiB", "check that SB3 wrote it", _MEMBER)
    try:
        tree = loads(data)
    except ValueError:
        raise Unreadable(path, "its data is no JSON", "check that SB3 wrote it", _MEMBER) from None
    if not isinstance(tree, dict):
        raise Unreadable(path, "its data is no JSON object", "check that SB3 wrote it", _MEMBER)
    try:
        config = dict(_options(tree))
    except ValueError as error:
        raise Unreadable(path, f"its data holds {error}", "check that SB3 wrote it", _MEMBER) from None
    notes = [f"saved by stable-baselines3 {version}"] if version else []
    return Recording(format="sb3_zip", config=config, notes=notes)


def _options(tree: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What was not pickled and is no state of the training."""
    options = {name: value for name, value in tree.items() if not name.startswith("_") and name not in _PROGRESS}
    for name, value in leaves(options, "."):
        of_code = name.startswith(":") or ".:" in name or ".__" in name or _is_object(value)
        if not of_code and _is_plain(value):
            yield name, value


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str)) or (
        isinstance(value, list) and all(isinstance(item, (bool, int, float, str)) for item in value)
    )


def _is_object(value: Any) -> bool:
    """Whether a text describes code or an object of the process that saved: <function forward at 0x7f...>."""
    return isinstance(value, str) and value.startswith("<") and " at 0x" in value


def _version(archive: zipfile.ZipFile) -> str:
    try:
        with archive.open(_VERSION) as file:
            return file.read(32).decode("ascii").strip()
    except (KeyError, UnicodeDecodeError):
        return ""
