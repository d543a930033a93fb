"""A small corpus of synthetic runs with known causes."""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from firstbreak_lab import corpus
from firstbreak_lab.corpus import Job
from firstbreak_lab.running import Label

BASE = "language/grpo-sort"
STEPS = 60


def label(variant: str = "untouched", seed: int = 0, score: float = 0.7, **more: Any) -> Label:
    """The label of a run; a fault is `groups-mixed` or a name with a link given."""
    known = {"groups-mixed": ("advantage", "groups-mixed", 12)}
    link, cause, onset = known.get(variant, (None, None, None))
    values: dict[str, Any] = dict(variant=variant, base=BASE, seed=seed, severity=0.0 if link is None else 1.0)
    values |= dict(link=link, cause=cause, onset=onset, steps=STEPS, score=score, reported=score)
    values |= dict(seconds=1.0, cpu_seconds=1.0, peak_gb=0.4)
    return Label(**values | more)


def write(folder: Path, of: Label, **signals: float) -> None:
    """One archive of a corpus: a run that logs a rising reward, and what else is given, from the onset on."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "run").mkdir()
        rows = []
        for step in range(1, STEPS + 1):
            row = {"step": step, "reward": 0.4 + step / 200, "grad_norm": 1.0}
            if of.onset is not None and step >= of.onset:
                row |= {name.replace("__", "/"): value for name, value in signals.items()}
            rows.append(json.dumps(row))
        (place / "run" / "metrics.jsonl").write_text("\n".join(rows) + "\n")
        (place / "label.json").write_text(json.dumps(asdict(of)))
        job = Job(of.variant, of.base, of.severity, of.seed)
        corpus._write(folder / job.archive, corpus._pack(place))


def small(folder: Path, seeds: int = 6) -> Path:
    """Twins and runs with mixed groups, worse by 0.3 and with a gradient that explodes where the fault starts."""
    for seed in range(seeds):
        write(folder, label(seed=seed, score=0.70 + seed / 100))
        write(folder, label("groups-mixed", seed, score=0.40 + seed / 100), grad_norm=500.0)
    return folder
