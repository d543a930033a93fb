"""Starts the recorder in a process of `firstbreak record`, as soon as a known trainer is imported."""

from __future__ import annotations

import importlib
import os
import sys

from firstbreak_imports import when_imported

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recorder", "trainers")
PACKAGES = {"rllib": "ray.rllib"}  #: of files that have another name than their trainer's package


def install() -> None:
    """Wait for the trainers that have a file in `FOLDER`. One that cannot be recorded trains as it would without."""
    files = [name[:-3] for name in os.listdir(FOLDER) if name.endswith(".py") and not name.startswith("_")]
    trainers = {PACKAGES.get(name, name): name for name in files}

    def record(package: str) -> None:
        name = trainers.pop(package)
        try:
            importlib.import_module("firstbreak.live.recorder.seams").install(name)
        except Exception as error:
            sys.stderr.write(f"firstbreak: {name} is not recorded: {type(error).__name__}: {error}\n")

    when_imported(trainers, before=record)
