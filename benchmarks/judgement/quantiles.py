"""How noisy healthy runs really are: `python -m benchmarks.judgement.quantiles` writes noise.json.

Measured over the healthy runs of the corpus and the published runs that a reader called healthy. For each family of runs
and each signal: the quantiles of the residual's standard deviation about a slow trend, absolute and relative to the level.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab import corpus
from firstbreak_lab.catalogue import catalogue

from firstbreak.engine.stats.noise import noise_scale
from firstbreak.model import Run
from firstbreak.readers import Unreadable
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("noise.json")
QUANTILES = (0.1, 0.5, 0.9)
MIN_POINTS = 12  #: of a curve: fewer do not tell noise from trend
MIN_RUNS = 3  #: of a signal: fewer give no quantiles


def healthy_runs(folder: Path, published: Path) -> Iterator[Run]:
    """Healthy variants of the corpus, and published runs whose verdict begins with "healthy"."""
    harmless = {variant.id for variant in catalogue().values() if variant.healthy}
    for archive in corpus.archives(folder):
        if archive.partition("/")[0] in harmless:
            with corpus.opened(folder, archive) as (path, _):
                yield read(path)
    if not (published / "index.csv").exists():
        return
    with (published / "index.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            if row["verdict"].startswith("healthy"):
                try:
                    yield read(published / row["id"])
                except Unreadable:
                    continue


def family(run: Run) -> str:
    """ "text" where completions or preferences are logged, else "control"."""
    return "text" if any(name.startswith(("length.", "pref.")) for name in run.series) else "control"


def measured(runs: Iterator[Run]) -> dict[str, dict[str, Any]]:
    """family -> signal -> number of runs and quantiles."""
    found: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        for name, series in run.series.items():
            values = series.finite.values
            if "@" in name or len(values) < MIN_POINTS or (sd := noise_scale(values)) <= 0:
                continue
            found[family(run), name].append((sd, float(np.median(np.abs(values)))))
    out: dict[str, dict[str, Any]] = {"text": {}, "control": {}}
    for (kind, name), pairs in sorted(found.items()):
        if len(pairs) < MIN_RUNS:
            continue
        sds = [sd for sd, _ in pairs]
        relative = [sd / level for sd, level in pairs if level > 1e-9]
        out[kind][name] = {
            "runs": len(pairs),
            "absolute": _quantiles(sds),
            **({"relative": _quantiles(relative)} if len(relative) >= MIN_RUNS else {}),
        }
    return out


def _quantiles(values: list[float]) -> list[float]:
    return [float(f"{q:.3g}") for q in np.quantile(values, QUANTILES)]


@cache
def noise() -> dict[str, dict[str, Any]]:
    """What was measured: family -> signal -> {"runs", "absolute": [q10, q50, q90], "relative": [...]}."""
    loaded: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return loaded


def main() -> None:
    """Measure and write."""
    found = measured(healthy_runs(ROOT / "corpus", ROOT.parent / "shared" / "runs"))
    FILE.write_text(json.dumps(found, indent=1) + "\n")
    print({kind: len(signals) for kind, signals in found.items()}, "signals")


if __name__ == "__main__":
    main()
