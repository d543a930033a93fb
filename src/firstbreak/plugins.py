"""What lies in a folder, one file each, and what other packages add to it by entry points. There is no list to edit."""

import importlib
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

PREFIX = "firstbreak."  #: of our groups of entry points


class BadPlugin(TypeError):
    """A file that does not keep the contract of its folder; the message names file and line."""


def modules(package: str, attribute: str, group: str = "") -> Mapping[str, ModuleType]:
    """File name -> module, for every module at any depth of `package` that has this attribute, in alphabetical order.

    Names that begin with `_` are helpers. Third parties name modules under the entry-point group `group`. Raises BadPlugin
    where two files have one name.
    """
    home = importlib.import_module(package)
    names = [m.name for m in pkgutil.walk_packages(home.__path__, f"{package}.")]
    names += elsewhere(group) if group else []
    found: dict[str, ModuleType] = {}
    for name in names:
        short = name.rpartition(".")[2]
        if short.startswith("_") or not hasattr(module := importlib.import_module(name), attribute):
            continue
        if short in found:
            raise BadPlugin(f"{module.__file__}: the name {short!r} is taken by {found[short].__file__}")
        found[short] = module
    return dict(sorted(found.items()))


def identity(short: str) -> str:
    """The id of a file: its name with hyphens."""
    return short.replace("_", "-")


def described(module: ModuleType) -> tuple[str, str, str]:
    """The id of a file, its first line without a full stop, and all that it says of itself."""
    doc = inspect.cleandoc(module.__doc__ or "")
    return identity(module.__name__.rpartition(".")[2]), doc.partition("\n")[0].rstrip("."), doc


def elsewhere(group: str) -> tuple[str, ...]:
    """The modules that other packages name under an entry-point group."""
    return _entries(tuple(sys.path)).get(group, ())


@cache
def _entries(places: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Group of entry points of ours -> modules, over all packages on these paths, as `importlib.metadata` finds them.

    Its own search imports e-mail and takes as long as numpy.
    """
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for place in places:
        if place.endswith((".zip", ".egg", ".whl")) and os.path.isfile(place):
            return _by_the_standard_library()
        for folder in _metadata(place):
            name = re.sub(r"[-_.]+", "-", os.path.basename(folder).partition("-")[0]).lower()
            if name in seen:
                continue
            seen.add(name)
            points = _points(folder)
            if PREFIX.encode() not in points:
                continue
            for section in re.findall(r"^\[\s*(firstbreak\.[^\]]*?)\s*\]([^\[]*)", points.decode(), re.MULTILINE):
                values = re.findall(r"^[^#=\n]+=\s*([\w.]+)", section[1], re.MULTILINE)
                found[section[0]] = (*found.get(section[0], ()), *values)
    return found


def _metadata(place: str) -> Iterator[str]:
    try:
        names = os.listdir(place or ".")
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            yield os.path.join(place, name)


def _points(folder: str) -> bytes:
    """The entry points of a package, empty where it has none."""
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _by_the_standard_library() -> Mapping[str, tuple[str, ...]]:
    from importlib.metadata import entry_points

    every = entry_points()
    return {
        group: tuple(entry.value for entry in every.select(group=group))
        for group in every.groups
        if group.startswith(PREFIX)
    }
