"""What the causes' weights rest on: how often each detector speaks in runs of the lab with a known cause, and in healthy ones.

Only the training split is counted. Counts are written to `causes/measured.json`, which ships with the package; the ranking
smooths them with what each cause declares (engine/likelihood.py).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from firstbreak.engine import likelihood
from firstbreak.engine.check import check
from firstbreak.lab import corpus
from firstbreak.lab.running import Label
from firstbreak.model import Outcome, Severity, Status

Counts = dict[str, dict[str, list[int]]]  #: cause (or "healthy") -> detector -> [critical, serious, measured]


def in_training(label: Label) -> bool:
    """Whether a run belongs to the training split."""
    return corpus.split(label) == "train"


def measure(
    folder: Path,
    *,
    wanted: Callable[[Label], bool] = in_training,
    departed: Callable[[Label], bool] = lambda label: False,
    report: Callable[[Label], None] = lambda label: None,
) -> tuple[Counts, Counter[str]]:
    """Counts over the `wanted` runs of a corpus, and the number of runs per cause.

    Runs for which `departed` holds carry a fault that did no harm; they speak for neither side and are left out.
    """
    counts: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    seen: Counter[str] = Counter()
    for label, run in corpus.runs(folder, wanted):
        if label.cause is not None and departed(label):
            continue
        cause = label.cause or likelihood.HEALTHY
        seen[cause] += 1
        report(label)
        for outcome in check(run):
            _count(counts[cause][outcome.detector], outcome)
    return {cause: {d: c for d, c in sorted(per.items()) if c[2]} for cause, per in sorted(counts.items())}, seen


def added(tables: Iterable[Counts]) -> Counts:
    """The counts of several parts of a corpus together."""
    total: Counts = {}
    for table in tables:
        for cause, per in table.items():
            for detector, cell in per.items():
                before = total.setdefault(cause, {}).get(detector, [0, 0, 0])
                total[cause][detector] = [a + b for a, b in zip(before, cell, strict=True)]
    return total


def _count(cell: list[int], outcome: Outcome) -> None:
    finding = outcome.finding
    if outcome.status not in (Status.OK, Status.FOUND):
        return
    cell[2] += 1
    if finding is not None and finding.severity is not Severity.NOTICE:
        cell[1] += 1
        cell[0] += finding.severity is Severity.CRITICAL


def write(folder: Path, about: dict[str, Any], **options: Any) -> Path:
    """Measure, and write what the ranking reads; `about` says where the figures come from."""
    counts, seen = measure(folder, **options)
    compact = {cause: json.dumps(per) for cause, per in counts.items()}
    head = json.dumps({**about, "runs": dict(sorted(seen.items()))}, indent=1).removesuffix("\n}")
    body = ",\n".join(f'  "{cause}": {per}' for cause, per in compact.items())
    likelihood.MEASURED.write_text(f'{head},\n "counts": {{\n{body}\n }}\n}}\n')
    return likelihood.MEASURED
