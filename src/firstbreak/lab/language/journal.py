"""What a run leaves on disk: config.yaml, metrics.jsonl (one row a step) and samples.jsonl (a bounded number).

The names are those that AReaL logs; what AReaL does not log goes by firstbreak's own vocabulary.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor


class Journal:
    """Collects the numbers of a step, then writes them as one line."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        self._metrics = (folder / "metrics.jsonl").open("w")
        self._samples = (folder / "samples.jsonl").open("w")
        self._row: dict[str, list[float]] = {}

    def scalar(self, name: str, value: float | Tensor) -> None:
        """One number; several of one name in a step (one per minibatch) are averaged when the step is written."""
        self._row.setdefault(name, []).append(float(value))

    def stat(self, name: str, values: Tensor, mask: Tensor | None = None) -> None:
        """Mean, minimum and maximum, as `name/avg`, `name/min` and `name/max`; nothing where nothing counts."""
        counted = values if mask is None else values[mask]
        if counted.numel():
            counted = counted.float()
            self.scalar(f"{name}/avg", counted.mean())
            self.scalar(f"{name}/min", counted.min())
            self.scalar(f"{name}/max", counted.max())

    @contextmanager
    def time(self, phase: str) -> Iterator[None]:
        """Seconds of wall clock spent inside, as `timeperf/<phase>`."""
        start = time.perf_counter()
        yield
        self.scalar(f"timeperf/{phase}", time.perf_counter() - start)

    def write(self, step: int) -> None:
        """End the step."""
        row = {name: rounded(sum(values) / len(values)) for name, values in self._row.items()}
        self._metrics.write(json.dumps({"step": step} | row) + "\n")
        self._metrics.flush()
        self._row = {}

    def sample(self, **fields: Any) -> None:
        """One completion."""
        self._samples.write(json.dumps(fields) + "\n")

    def close(self) -> None:
        """Nothing more is written."""
        self._metrics.close()
        self._samples.close()


def rounded(value: float, digits: int = 5) -> float:
    """The value with `digits` significant digits: a log is not a checkpoint."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def share(condition: Tensor, among: Tensor | None = None) -> Tensor:
    """The fraction for which the condition holds."""
    counted = condition if among is None else condition[among]
    return counted.float().mean() if counted.numel() else torch.tensor(0.0)
