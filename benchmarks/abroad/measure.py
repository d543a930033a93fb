"""Everything that results/abroad.json holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstbreak_lab.corpus import labels

from benchmarks.abroad.answers import rows
from benchmarks.abroad.figures import figures, judged
from benchmarks.abroad.visible import power
from benchmarks.machine import environment
from benchmarks.size import corpus

RESULT = Path(__file__).resolve().parent.parent / "results" / "abroad.json"
DRAWS = 1  #: of each run
SUMMARIES = 100  #: what twenty curves give
MARKS = {"one curve": 3, "four curves": 12}  #: summaries that such a mark moves
SHIFTS = (2.0, 3.0, 5.0)  #: standard deviations between seeds


def measure(folder: Path | None = None, processes: int | None = None) -> dict[str, Any]:
    """All figures."""
    folder = folder or corpus()
    every = judged(rows(folder, DRAWS, processes), labels(folder))
    return {
        **environment("make bench"),
        "draws": DRAWS,
        **figures(every),
        "power": {mark: {f"{d:g}": power(d, SUMMARIES, n) for d in SHIFTS} for mark, n in MARKS.items()},
    }
