"""Small whole files to mutate. A module here has SEEDS: reader -> [(file name, bytes)], or what makes them; all are merged."""

import importlib
import pkgutil
from functools import cache
from typing import Any


@cache
def names() -> list[str]:
    """The readers that have files."""
    return sorted({reader for module in _modules() for reader in module.SEEDS})


@cache
def seeds(reader: str) -> list[tuple[str, bytes]]:
    """The files of a reader."""
    found = [module.SEEDS[reader] for module in _modules() if reader in module.SEEDS]
    return [file for files in found for file in (files() if callable(files) else files)]


@cache
def _modules() -> list[Any]:
    return [importlib.import_module(module.name) for module in pkgutil.iter_modules(__path__, __name__ + ".")]
