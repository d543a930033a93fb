"""Python imports this before a script. It waits for the import of a trainer, and runs the next `sitecustomize` in sys.path."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = [name[:-3] for name in os.listdir(os.path.join(HERE, "..", "trainers")) if not name.startswith("_")]
PACKAGES = {"rllib": "ray.rllib"}  #: of files that have another name than their trainer's package
TRAINERS = {PACKAGES.get(name, name): name for name in FILES}


class _Trainer(importlib.abc.MetaPathFinder):
    """Looks for a known trainer, and finds nothing itself."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name in TRAINERS:
            try:
                importlib.import_module("firstbreak.inside.seams").install(TRAINERS.pop(name))
            except Exception as error:
                sys.stderr.write(f"firstbreak: {name} is not recorded: {type(error).__name__}: {error}\n")


def _the_next_one() -> None:
    elsewhere = [place for place in sys.path if os.path.abspath(place) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("FIRSTBREAK_RECORDER"):
    sys.meta_path.insert(0, _Trainer())
    _the_next_one()
