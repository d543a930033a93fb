"""Small whole files to mutate. A module here has SEEDS: reader -> [(file name, bytes)]; all modules are merged."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache


@cache
def seeds() -> dict[str, list[tuple[str, bytes]]]:
    """Reader -> its files."""
    merged: dict[str, list[tuple[str, bytes]]] = {}
    for module in pkgutil.iter_modules(__path__, __name__ + "."):
        for reader, files in importlib.import_module(module.name).SEEDS.items():
            merged.setdefault(reader, []).extend(files)
    return merged
