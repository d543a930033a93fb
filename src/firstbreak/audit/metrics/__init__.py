"""Side metrics: one behaviour of a completion in one file, whose name is the metric's id. There is no list to edit.

A metric is a module with a docstring (first line: the title; the rest: when a change is harmless) and

    UP: str, DOWN: str                                  meaning of a rise and of a fall; leave out one without meaning
    def measure(sample: PolicySample) -> float          for every sample of a dump: some microseconds; NaN: not applicable

or, for a metric that is slower, or compares with the beginning of the run,

    def against(baseline: Sequence[PolicySample]) -> Callable[[PolicySample], float]

or, for a metric that compares the samples of a step, one value for each of them,

    def among(samples: Sequence[PolicySample]) -> Sequence[float]

These two use only the kept samples of each step, whose number is bounded; `baseline` holds those of the first steps.
Third parties name a module under the entry-point group `firstbreak.audit.metrics`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType

from firstbreak import plugins
from firstbreak.audit.split_truth import PolicySample
from firstbreak.values import dataclass

Measure = Callable[[PolicySample], float]


@dataclass(frozen=True)
class Metric:
    """One file of this folder."""

    id: str
    title: str
    doc: str
    up: str  #: meaning of a rise; empty: no meaning
    down: str
    measure: Measure | None
    against: Callable[[Sequence[PolicySample]], Measure] | None
    among: Callable[[Sequence[PolicySample]], Sequence[float]] | None


@cache
def metrics() -> Mapping[str, Metric]:
    """Metric by id, in the order of the alphabet."""
    found = plugins.modules(__name__, "__doc__", "firstbreak.audit.metrics")
    return {metric.id: metric for metric in map(_metric, found.values())}


def _metric(module: ModuleType) -> Metric:
    name, title, doc = plugins.described(module)
    parts = {part: getattr(module, part, None) for part in ("measure", "against", "among")}
    if sum(part is not None for part in parts.values()) != 1:
        raise TypeError(f"{module.__file__}: a side metric defines one of `measure`, `against` and `among`")
    return Metric(name, title, doc, up=getattr(module, "UP", ""), down=getattr(module, "DOWN", ""), **parts)
