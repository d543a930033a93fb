"""What is said of a few pasted rows: `python -m benchmarks.abroad.excerpts`, results/excerpts.json and a table of docs/lab.md.

Threads show one to six rows of a log, not a course. Each test run is shown as a stranger would bring it (stranger.py), cut to
its last rows. A fault shows there only in absolute levels, so the question is how often a healthy run is accused, and how
often what is named is right.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.bench import kind_of
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.corpus import labels, opened, split
from firstbreak_lab.running import Label

from benchmarks import lab
from benchmarks.abroad.measure import RESULT as ABROAD
from benchmarks.abroad.stranger import brought, drawn
from benchmarks.abroad.tables import EXCERPTS, tables
from benchmarks.machine import environment
from benchmarks.size import corpus, place
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Run
from firstbreak.preflight.intervals import wilson
from firstbreak.readers.read import read

ROWS = (1, 3, 6)  #: of an excerpt


def last_rows(run: Run, n: int) -> Run:
    """The run as its last `n` rows show it, counted on the axis that most curves have."""
    axis, _ = Counter(s.axis for s in run.series.values()).most_common(1)[0]
    steps = np.unique(np.concatenate([s.steps for s in run.series.values() if s.axis == axis]))
    cut = {name: s.between(float(steps[-n:][0])) for name, s in run.series.items()}
    return replace(run, series={name: s for name, s in cut.items() if len(s)}, checkpoints=())


def said(folder: Path, archive: str) -> dict[int, dict[str, Any]]:
    """Number of rows -> what is said of an excerpt of so many."""
    with opened(folder, archive) as (path, label):
        run = brought(read(path), drawn(archive, label, 0), label.steps)
    return {n: _said(last_rows(run, n)) for n in ROWS}


def _said(excerpt: Run) -> dict[str, Any]:
    found = diagnose(excerpt)
    named = found.first_break
    return {
        "links": [link.value for link in named.links] if named else [],
        "stop": found.verdict.action in (Action.STOP, Action.ROLLBACK),
        "forced": next(cause.link.value for cause in found.causes if cause.link is not None),
    }


def figures(answers: Iterable[tuple[Label, Mapping[str, Any]]]) -> dict[str, Any]:
    """Shares with their 95 % intervals, over the answers about excerpts of one size."""
    every = list(answers)
    faulty = [(label, one) for label, one in every if label.link is not None]
    healthy = [one for label, one in every if label.link is None]
    named = [(label, one) for label, one in faulty if one["links"]]

    def accepted(label: Label, links: Sequence[str]) -> bool:
        return any(link == label.link or link in catalogue()[label.variant].accepted for link in links)

    return {
        "n_faulty": len(faulty),
        "n_healthy": len(healthy),
        "named": share([bool(one["links"]) for _, one in faulty]),
        "named_right": share([accepted(label, one["links"]) for label, one in named]),
        "forced": share([label.link == one["forced"] for label, one in faulty]),
        "forced_accepted": share([accepted(label, [one["forced"]]) for label, one in faulty]),
        "healthy_accused": share([bool(one["links"]) for one in healthy]),
        "healthy_stopped": share([one["stop"] for one in healthy]),
    }


def share(hits: Sequence[bool]) -> dict[str, Any] | None:
    """None of nothing."""
    return {"share": sum(hits) / len(hits), "interval": wilson(sum(hits), len(hits))} if hits else None


def main() -> None:
    """Measure, write and print."""
    every = labels(corpus())
    kind = kind_of(every.values())
    wanted = [
        archive for archive, label in every.items() if split(label) == "test" and kind(label) in ("faulty", "healthy")
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        answers = dict(zip(wanted, pool.map(partial(said, corpus()), wanted, chunksize=8), strict=True))
    sizes = {str(n): figures((every[archive], one[n]) for archive, one in answers.items()) for n in ROWS}
    made = lab.rounded({**environment("python -m benchmarks.abroad.excerpts"), "rows": sizes})
    place(EXCERPTS).write_text(json.dumps(made, indent=1) + "\n")
    shown = {**lab.tables(json.loads(lab.RESULT.read_text())), **tables(json.loads(ABROAD.read_text()))}
    place(lab.PAGE).write_text(lab.page(lab.PAGE.read_text(), shown))
    print(shown["abroad-excerpts"])


if __name__ == "__main__":
    main()
