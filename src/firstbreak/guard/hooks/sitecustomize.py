"""Python imports this before the user's script. It installs the hooks, then runs the next `sitecustomize` in sys.path."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys


def _the_next_one() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [place for place in sys.path if os.path.abspath(place) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("FIRSTBREAK_INTERVENE"):
    importlib.import_module("firstbreak_hooks").install()
    _the_next_one()
