"""Small runs for tests, made of curves that a reader can see at a glance."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstbreak.model import Config, Run, Series


def some_quick(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases that multiply one contract: `make quick` runs one in so many, `make test` all."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*v, marks=[pytest.mark.slow] if i % every else []) for i, v in enumerate(values)]


def noise(n: int, sd: float = 1.0, seed: int = 0) -> np.ndarray:
    """White noise, the same at every call."""
    drawn: np.ndarray = np.random.default_rng(seed).normal(0.0, sd, n)
    return drawn


def put(values: np.ndarray, at: Any, new: Any) -> np.ndarray:
    """The same values, with others at these places."""
    changed = np.array(values, float)
    changed[at] = new
    return changed


def series(name: str, values: Any, steps: Any = None) -> Series:
    """A curve over the steps 1, 2, 3, ... unless others are given."""
    array = np.asarray(values, dtype=float)
    at = np.arange(1, len(array) + 1, dtype=float) if steps is None else np.asarray(steps, dtype=float)
    return Series(name=name, steps=at, values=array, raw=name)


def run(
    curves: Mapping[str, Any] | None = None,
    *,
    algorithm: str | None = None,
    trainer: str | None = None,
    config: Mapping[str, Any] | None = None,
    **more: Any,
) -> Run:
    """A run of canonical curves: {"reward.mean": [...], ...}."""
    return Run(
        path="a-run",
        trainer=trainer,
        algorithm=algorithm,
        series={name: series(name, values) for name, values in (curves or {}).items()},
        config=Config(values=dict(config or {})),
        **more,
    )


def learning(n: int = 200, low: float = 0.0, high: float = 1.0, sd: float = 0.05, seed: int = 0) -> np.ndarray:
    """A score that rises and settles."""
    return low + (high - low) * (1 - np.exp(-np.arange(n) / (n / 5))) + noise(n, sd * abs(high - low), seed)


def write_jsonl(path: Path, rows: int, start: int = 0, extra: dict[str, float] | None = None) -> None:
    """A healthy-looking run in JSON lines; appends where the file exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for step in range(start, start + rows):
            reward = 1 - math.exp(-step / 80) + 0.02 * math.sin(step)
            values = {"step": step, "reward": reward, "kl": 0.01 + 0.001 * math.cos(step), "loss": 0.1, **(extra or {})}
            file.write(json.dumps(values) + "\n")
