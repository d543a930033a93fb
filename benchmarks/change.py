"""How often the test of every step alarms on healthy runs, and how soon on drawn falls: `python -m benchmarks.change`.

Feeds the healthy runs of the corpus and of the population to the rules of the guard, row by row, and counts the runs with an
alarm of a level and with losses that double. The limits of the test were chosen on the healthy runs of the corpus; the
population was looked at once. The falls are drawn: the mean falls by so many standard deviations of white noise.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.bench import kind_of
from firstbreak_lab.corpus import labels, opened
from firstbreak_lab.population.build import packs, unpacked

from benchmarks.guard import as_logged
from benchmarks.lab import rounded
from benchmarks.machine import environment
from benchmarks.size import corpus, place, sized
from firstbreak.live.guard.change import ChangeTest
from firstbreak.live.guard.invariants import Watch
from firstbreak.model import Run
from firstbreak.preflight.intervals import wilson
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
CORPUS, PACKS = corpus(), ROOT / "population"
RESULT = ROOT / "benchmarks" / "results" / "change.json"
SIGMAS = (4, 5, 6, 8, 12, 32)  #: depth of the drawn falls
DRAWN = sized(500, 5)
AFTER = 50  #: values after the fall
SOON = 5  #: values


def alarms(run: Run) -> list[str]:
    """What the rules say of a run's levels and losses: invariant and signal."""
    watch = Watch(run.trainer, None)
    said = [v for _, row in as_logged(run) for v in watch.violations(row, run.config.raw)]
    return [f"{v.invariant} {v.metric}" for v in said if v.invariant in ("level-fell", "level-jumped", "doubling")]


def of_corpus(archive: str) -> list[list[str]]:
    """The alarms of one run of the corpus."""
    with opened(CORPUS, archive) as (path, _):
        return [alarms(read(path))]


def of_pack(pack: str) -> list[list[str]]:
    """The alarms of each healthy run of a pack of the population."""
    with unpacked(PACKS / pack) as runs:
        return [alarms(read(path)) for path, label in runs if label.link is None]


def counted(found: Iterator[list[list[str]]]) -> dict[str, Any]:
    """Runs with an alarm, with a 95 % interval, and the alarms by invariant and signal."""
    runs = [said for part in found for said in part]
    n = sum(bool(said) for said in runs)
    low, high = wilson(n, len(runs)) if runs else (math.nan, math.nan)
    by = Counter(name for said in runs for name in set(said))
    return {"runs": len(runs), "alarmed": n, "low": low, "high": high, "by": dict(sorted(by.items()))}


def delays(sigmas: float) -> Mapping[str, float]:
    """How many values after a fall the alarm came; `alarms_before`: runs with an alarm before the fall."""
    found, before = [], 0
    for seed in range(DRAWN):
        rng = np.random.default_rng(seed)
        at, test = int(rng.integers(20, 400)), ChangeTest()
        values = np.r_[np.zeros(at), np.full(AFTER, -sigmas)] + rng.normal(size=at + AFTER)
        when = [i for i, value in enumerate(values.tolist()) if test.add(value)]
        before += any(i < at for i in when)
        found.append(next((i - at + 1 for i in when if i >= at), math.inf))
    late = np.array(found)
    return {
        "drawn": DRAWN,
        "alarms_before": before,
        "found": float(np.isfinite(late).mean()),
        "soon": float((late <= SOON).mean()),
        "median": float(np.median(late)),
    }


def main() -> None:
    found = labels(CORPUS)
    kinds = kind_of(found.values(), trusting=False)
    healthy = [a for a, label in found.items() if kinds(label) == "healthy"]
    with ProcessPoolExecutor() as pool:
        figures = {
            "corpus": counted(pool.map(of_corpus, healthy, chunksize=8)),
            "population": counted(pool.map(of_pack, [p.name for p in packs(PACKS)])),
        }
    result = {
        "environment": environment("python -m benchmarks.change"),
        **figures,
        "falls": {str(s): delays(s) for s in SIGMAS},
    }
    place(RESULT).write_text(json.dumps(rounded(result), indent=1) + "\n")
    print(json.dumps(rounded(result), indent=1))


if __name__ == "__main__":
    main()
