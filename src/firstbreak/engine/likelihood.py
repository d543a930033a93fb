"""P(finding | cause) and P(finding | healthy): counted in runs with a known answer, smoothed by what the causes declare.

`knowledge/causes/measured.json` holds [critical, serious, measured] for each cause and detector: in how many training runs of the
lab the detector found something critical, found something at least serious, and had its inputs. "healthy" also counts the healthy
runs of the lab's population, whose own counts stand beside it for each trainer family. A declared probability counts like a
number of runs; where nothing was measured it counts alone.

The file also holds `onset_margin`: how much earlier the interval of an onset must begin to contain the true onset as often as
it promises (a split-conformal limit; lab/weights.py).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from firstbreak.model import Severity
from firstbreak.values import dataclass

MEASURED = Path(__file__).parents[1] / "knowledge" / "causes" / "measured.json"
HEALTHY = "healthy"

#: P(a healthy run shows a finding of this severity), for one detector, where nothing was measured (convention)
FALSE_ALARM: Mapping[Severity, float] = {Severity.CRITICAL: 0.005, Severity.WARNING: 0.03, Severity.NOTICE: 0.15}
#: P(a broken run shows a finding that its cause does not declare), where nothing was measured (convention)
LEAK: Mapping[Severity, float] = {Severity.CRITICAL: 0.03, Severity.WARNING: 0.08, Severity.NOTICE: 0.2}
LEAK_RUNS = 20.0  #: runs: LEAK counts like this many broken runs (convention)
DECLARED_RUNS = 40.0  #: runs: what a cause declares counts like this many runs of the lab (convention)
FALSE_ALARM_RUNS = 20.0  #: runs: FALSE_ALARM counts like this many healthy runs; rare events need many (convention)

#: P(an identity fails in a run with another fault, or none), where nothing was measured; counts like so many runs (convention)
FALSE_PROOF, FALSE_PROOF_RUNS = 0.0005, 1000.0

Cell = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each detector found something, by cause."""

    cells: Mapping[str, Mapping[str, Cell]]

    @cached_property
    def foreign(self) -> Mapping[str, tuple[int, int]]:
        """Detector -> (serious, measured), over the causes in which it finds something in less than half of the runs."""
        total: dict[str, tuple[int, int]] = {}
        for per in (per for cause, per in self.cells.items() if cause != HEALTHY):
            for detector, (_, serious, measured) in per.items():
                if 2 * serious < measured:
                    before = total.get(detector, (0, 0))
                    total[detector] = before[0] + serious, before[1] + measured
        return total


_INSTEAD: ContextVar[Counts | None] = ContextVar("counts", default=None)


@cache
def written() -> Mapping[str, Any]:
    """What the lab has counted; empty where nothing was."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


@cache
def counts() -> Counts:
    """Cause (or "healthy") -> detector -> (critical, serious, measured); empty where nothing was measured yet."""
    table = written().get("counts", {})
    return Counts({cause: {name: tuple(cell) for name, cell in per.items()} for cause, per in table.items()})


def onset_margin() -> float:
    """The share of the run by which the interval of a first break begins earlier."""
    return float(written().get("onset_margin", 0.0))


def in_healthy(detector: str, severity: Severity) -> float:
    """P(a healthy run shows a finding of at least this severity)."""
    critical, serious, measured = _cell(HEALTHY, detector)
    if severity is Severity.NOTICE:
        return FALSE_ALARM[severity]
    seen = critical if severity is Severity.CRITICAL else serious
    return _smoothed(seen, measured, FALSE_ALARM[severity], FALSE_ALARM_RUNS)


def proof_elsewhere(detector: str) -> float:
    """P(an identity fails in a run with another fault, or none): arithmetic does not depend on what else is wrong."""
    critical, _, measured = _cell(HEALTHY, detector)
    return _smoothed(critical, measured, FALSE_PROOF, FALSE_PROOF_RUNS)


def under(cause: str, detector: str, severity: Severity, declared: float | None) -> float:
    """P(a run with this cause shows the detector's finding); `declared` is None where the cause does not name it."""
    believed = in_other_breaks(detector, severity) if declared is None else declared
    if severity is Severity.NOTICE:
        return believed
    _, serious, measured = _cell(cause, detector)
    return _smoothed(serious, measured, believed, DECLARED_RUNS)


def in_other_breaks(detector: str, severity: Severity) -> float:
    """P(a broken run shows a finding that its cause does not declare): generic symptoms appear in many broken runs.

    Counted over the causes in which the detector finds something in less than half of the runs: the others are those that
    the detector is made for.
    """
    if severity is Severity.NOTICE:
        return LEAK[severity]
    seen, measured = _counts().foreign.get(detector, (0, 0))
    return _smoothed(seen, measured, LEAK[severity], LEAK_RUNS)


def known(cause: str, detector: str) -> bool:
    """Whether the lab has runs of this cause in which the detector had its inputs."""
    return _cell(cause, detector)[2] > 0


@contextmanager
def instead(table: Mapping[str, Mapping[str, Cell]]) -> Iterator[None]:
    """Use other counts while the context lasts: for what a diagnosis would be without some runs of the lab."""
    token = _INSTEAD.set(Counts(table))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def _counts() -> Counts:
    return _INSTEAD.get() or counts()


def _cell(cause: str, detector: str) -> Cell:
    return _counts().cells.get(cause, {}).get(detector, (0, 0, 0))


def _smoothed(seen: int, measured: int, believed: float, runs: float) -> float:
    return (seen + runs * believed) / (measured + runs)
