"""Side metrics: one behaviour of a completion in one file, whose name is the metric's id. There is no list to edit.

A metric is a module with a docstring (first line: its title; the rest: when a change of it is harmless) and

    UP: str, DOWN: str                                  what a rise, a fall means in words; leave out what means nothing
    def measure(sample: PolicySample) -> float          asked of every sample of a dump: some microseconds; NaN: not applicable

or, where a metric costs more, or compares with the beginning of the run,

    def against(baseline: Sequence[PolicySample]) -> Callable[[PolicySample], float]

or, where it is about samples beside each other, one value for each of those of a step,

    def among(samples: Sequence[PolicySample]) -> Sequence[float]

which are asked only of the bounded number of samples that are kept of each step; `baseline` are those of the first steps.
Third parties name a module under the entry-point group `firstbreak.audit.metrics`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from firstbreak.audit.blind import PolicySample

Measure = Callable[[PolicySample], float]


@dataclass(frozen=True)
class Metric:
    """One file of this folder."""

    id: str
    title: str
    doc: str
    up: str  #: what a rise means; empty: nothing
    down: str
    measure: Measure | None
    against: Callable[[Sequence[PolicySample]], Measure] | None
    among: Callable[[Sequence[PolicySample]], Sequence[float]] | None


@cache
def metrics() -> Mapping[str, Metric]:
    """Metric by id, in the order of the alphabet."""
    names = [m.name for m in pkgutil.iter_modules(__path__, __name__ + ".")]
    names += [entry.value for entry in entry_points(group="firstbreak.audit.metrics")]
    found = [_metric(name) for name in names if not name.rpartition(".")[2].startswith("_")]
    return {metric.id: metric for metric in sorted(found, key=lambda metric: metric.id)}


def _metric(name: str) -> Metric:
    module = importlib.import_module(name)
    doc = inspect.cleandoc(module.__doc__ or "")
    parts = {part: getattr(module, part, None) for part in ("measure", "against", "among")}
    if sum(part is not None for part in parts.values()) != 1:
        raise TypeError(f"{module.__file__}: a side metric defines one of `measure`, `against` and `among`")
    return Metric(
        id=name.rpartition(".")[2].replace("_", "-"),
        title=doc.partition("\n")[0].rstrip("."),
        doc=doc,
        up=getattr(module, "UP", ""),
        down=getattr(module, "DOWN", ""),
        **parts,
    )
