"""What a recorder writes beside a run: one JSON line a step, and the places of what failed. A killed process loses no line."""

import json
import logging
import math
import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.written import write

LOG = logging.getLogger("firstbreak.recorder")
NAME = "recorder"  #: of the files: recorder.jsonl, recorder_config.json, recorder_arrays/
PREFIX = "proof/"
LARGEST = 4096  #: elements of an array that is kept


class ProofFiles:
    """The files of one recorder in `folder`, whose names begin with `name`. Without a folder, nothing is written."""

    def __init__(self, folder: Path | None, name: str = NAME) -> None:
        self.folder, self.name = folder, name
        self.places: dict[str, str] = {}
        self._begun: set[str] = set()  #: files that were written to

    def write(
        self, step: int, numbers: Mapping[str, float], prefix: str = PREFIX, file: str | None = None, axis: str = "step"
    ) -> None:
        """One line with the numbers of a step, in the file `file`. `axis`: what its steps count, under the name in a log."""
        if self.folder is None or not numbers:
            return
        name = file or f"{self.name}.jsonl"
        if name not in self._begun:
            self._begun.add(name)
            self._set_aside(self.folder, name, step, axis)
        plain = {signal: float(value) for signal, value in numbers.items()}
        row = {axis: step} | {prefix + signal: v if math.isfinite(v) else repr(v) for signal, v in plain.items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / name).open("ab", buffering=0) as lines:
            lines.write(json.dumps(row).encode() + b"\n")  # one write: all of a line, or nothing

    def _set_aside(self, folder: Path, name: str, step: int, axis: str) -> None:
        """A run that begins where the file's run began is another run: the old lines stay, under another name."""
        if (begun := _first_step(folder / name, axis)) is None or step > begun:
            return
        n = next(n for n in count(1) if not (folder / f".{name}.before-{n}").exists())
        os.replace(folder / name, folder / f".{name}.before-{n}")
        LOG.warning(
            "%s is of a run that began at step %g, as this one does: it is kept as .%s.before-%d", name, begun, name, n
        )
        config = folder / f"{self.name}_config.json"
        if name == f"{self.name}.jsonl" and config.exists():
            os.replace(config, folder / f".{config.name}.before-{n}")

    def locate(self, step: int, name: str, place: str, arrays: Mapping[str, Any]) -> None:
        """Where an identity failed first, and the small arrays that show it."""
        if name in self.places:
            return
        self.places[name] = f"{place} (step {step})"
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        write(self.folder / f"{self.name}_config.json", json.dumps({"proof": self.places}, indent=1).encode())
        self.keep(name, arrays)

    def keep(self, name: str, arrays: Mapping[str, Any]) -> None:
        """Small arrays, as `numpy.load` reads them; those of the same name before are replaced."""
        kept = {key: value for key, value in arrays.items() if isinstance(value, np.ndarray) and value.size <= LARGEST}
        if self.folder is not None and kept:
            arrays_of = self.folder / f"{self.name}_arrays"
            arrays_of.mkdir(parents=True, exist_ok=True)
            with (arrays_of / f"{name}.arrays").open("wb") as file:
                np.savez(file, allow_pickle=False, **kept)


def _first_step(path: Path, axis: str) -> float | None:
    """The step of a file's first line; None where there is no such line."""
    from firstbreak.readers import Unreadable, opening  # not needed before a folder is written to

    try:
        with opening.beneath(path.parent), opening.open_file(path) as lines:
            return float(json.loads(lines.readline())[axis])
    except (OSError, Unreadable, ValueError, KeyError, TypeError):
        return None
