"""P(finding | cause) and P(finding | healthy): counted in the lab's training split, smoothed by what is declared.

`causes/measured.json` holds, per cause and detector, [critical, serious, measured]: in how many training runs the detector
found something critical, something at least serious, and could look at all. A declared probability counts like so many
runs; where nothing was measured it stands alone.

It also holds by how much earlier an interval of the onset has to begin to hold the truth as often as it promises, and how
improbable "healthy" has to be before a run is accused, and before it is stopped: split-conformal limits,
which bound the share of healthy runs that are accused whatever the number of curves and detectors is
(Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005; lab/weights.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from firstbreak.model import Severity

MEASURED = Path(__file__).parent.parent / "causes" / "measured.json"
HEALTHY = "healthy"

#: P(a healthy run shows a finding of this severity), per detector, before measuring
FALSE_ALARM: Mapping[Severity, float] = {Severity.CRITICAL: 0.005, Severity.WARNING: 0.03, Severity.NOTICE: 0.15}
#: P(a broken run shows a finding that its cause does not declare), before measuring
LEAK: Mapping[Severity, float] = {Severity.CRITICAL: 0.03, Severity.WARNING: 0.08, Severity.NOTICE: 0.2}
LEAK_RUNS = 20.0  #: the leak counts like this many broken runs
DECLARED_RUNS = 8.0  #: a cause's declaration counts like this many runs of the lab
FALSE_ALARM_RUNS = 20.0  #: and the false-alarm rate like this many healthy ones: rare events need many runs

#: accuse a run where P(healthy) is at most this, and stop it where it is at most that, before measuring
ACCUSE_BELOW, STOP_BELOW = 0.5, 0.2

Cell = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Table:
    """Counts by cause and detector."""

    cells: Mapping[str, Mapping[str, Cell]]

    @cached_property
    def foreign(self) -> Mapping[str, tuple[int, int]]:
        """Detector -> (serious, measured) over the causes in which it speaks in less than half of the runs."""
        total: dict[str, tuple[int, int]] = {}
        for per in (per for cause, per in self.cells.items() if cause != HEALTHY):
            for detector, (_, serious, measured) in per.items():
                if 2 * serious < measured:
                    before = total.get(detector, (0, 0))
                    total[detector] = before[0] + serious, before[1] + measured
        return total


_INSTEAD: ContextVar[Table | None] = ContextVar("counts", default=None)


@cache
def _measured() -> Mapping[str, Any]:
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


@cache
def counts() -> Table:
    """Cause (or "healthy") -> detector -> (critical, serious, measured); empty where nothing was measured yet."""
    table = _measured().get("counts", {})
    return Table({cause: {name: tuple(cell) for name, cell in per.items()} for cause, per in table.items()})


def accuse_below() -> float:
    """A run is called broken where P(healthy) is at most this."""
    return float(_measured().get("accuse_below", ACCUSE_BELOW))


def stop_below() -> float:
    """A run is stopped where P(healthy) is at most this, and something critical was found."""
    return float(_measured().get("stop_below", STOP_BELOW))


def onset_margin() -> float:
    """By this share of the run the interval of a first break begins earlier."""
    return float(_measured().get("onset_margin", 0.0))


def in_healthy(detector: str, severity: Severity) -> float:
    """P(a healthy run shows a finding of at least this severity)."""
    critical, serious, measured = _cell(HEALTHY, detector)
    if severity is Severity.NOTICE:
        return FALSE_ALARM[severity]
    seen = critical if severity is Severity.CRITICAL else serious
    return _smoothed(seen, measured, FALSE_ALARM[severity], FALSE_ALARM_RUNS)


def under(cause: str, detector: str, severity: Severity, declared: float | None) -> float:
    """P(a run with this cause shows the detector's finding); `declared` is None where the cause does not name it."""
    believed = in_other_breaks(detector, severity) if declared is None else declared
    if severity is Severity.NOTICE:
        return believed
    _, serious, measured = _cell(cause, detector)
    return _smoothed(serious, measured, believed, DECLARED_RUNS)


def in_other_breaks(detector: str, severity: Severity) -> float:
    """P(a broken run shows a finding that its cause does not declare): generic symptoms come with many breaks.

    Counted over the causes in which the detector speaks in less than half of the runs: the others are what it is for.
    """
    if severity is Severity.NOTICE:
        return LEAK[severity]
    seen, measured = _table().foreign.get(detector, (0, 0))
    return _smoothed(seen, measured, LEAK[severity], LEAK_RUNS)


def known(cause: str, detector: str) -> bool:
    """Whether the lab has runs of this cause in which the detector could look."""
    return _cell(cause, detector)[2] > 0


@contextmanager
def instead(table: Mapping[str, Mapping[str, Cell]]) -> Iterator[None]:
    """Weigh by other counts for as long as the context lasts: what would be said had a part of the lab not been seen."""
    token = _INSTEAD.set(Table(table))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def _table() -> Table:
    return _INSTEAD.get() or counts()


def _cell(cause: str, detector: str) -> Cell:
    return _table().cells.get(cause, {}).get(detector, (0, 0, 0))


def _smoothed(seen: int, measured: int, believed: float, runs: float) -> float:
    return (seen + runs * believed) / (measured + runs)
