"""What lies in a folder, one file each, and what other packages add to it by entry points. There is no list to edit."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from importlib.metadata import entry_points
from types import ModuleType


class BadPlugin(TypeError):
    """A file that does not keep the contract of its folder; the message names file and line."""


def modules(package: str, attribute: str, group: str = "") -> Mapping[str, ModuleType]:
    """File name -> module, for every module at any depth of `package` that has this attribute, in alphabetical order.

    Names that begin with `_` are helpers. Third parties name modules under the entry-point group `group`. Raises BadPlugin
    where two files have one name.
    """
    home = importlib.import_module(package)
    names = [m.name for m in pkgutil.walk_packages(home.__path__, f"{package}.")]
    names += [entry.value for entry in entry_points(group=group)] if group else []
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
