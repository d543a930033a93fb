"""The files of a run: config.yaml, metrics.jsonl (one row per step) and samples.jsonl (a limited number).

Metrics have the names that AReaL logs. Metrics that AReaL does not log have firstbreak's own names.
"""

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
        """Log one number. Several numbers with one name in a step (one per minibatch) are averaged."""
        self._row.setdefault(name, []).append(float(value))

    def stat(self, name: str, values: Tensor, mask: Tensor | None = None) -> None:
        """Log mean, minimum and maximum as `name/avg`, `name/min` and `name/max`. Nothing is logged if the mask is empty."""
        counted = values if mask is None else values[mask]
        if counted.numel():
            counted = counted.float()
            self.scalar(f"{name}/avg", counted.mean())
            self.scalar(f"{name}/min", counted.min())
            self.scalar(f"{name}/max", counted.max())

    @contextmanager
    def time(self, phase: str) -> Iterator[None]:
        """Log the wall-clock seconds of the context, as `timeperf/<phase>`."""
        start = time.perf_counter()
        yield
        self.scalar(f"timeperf/{phase}", time.perf_counter() - start)

    def write(self, step: int) -> None:
        """Write the row of the step."""
        row = {name: rounded(sum(values) / len(values)) for name, values in self._row.items()}
        self._metrics.write(json.dumps({"step": step} | row) + "\n")
        self._metrics.flush()
        self._row = {}

    def sample(self, **fields: Any) -> None:
        """Write one completion."""
        self._samples.write(json.dumps(fields) + "\n")

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()
        self._samples.close()


def rounded(value: float, digits: int = 5) -> float:
    """The value with `digits` significant digits."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def share(condition: Tensor, among: Tensor | None = None) -> Tensor:
    """The share for which the condition is true."""
    counted = condition if among is None else condition[among]
    return counted.float().mean() if counted.numel() else torch.tensor(0.0)
