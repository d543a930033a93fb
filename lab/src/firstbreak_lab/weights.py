"""Measures the weights of the causes: how often each detector reports a finding in runs with a known cause and in healthy runs.

Of the corpus, only the training split is counted. The healthy runs of the population, of more trainers and settings than the
corpus has, say beside it how often a healthy run shows a finding; what is said of the population is measured without the
counts of the run's own trainer family. The counts are written to `causes/measured.json`, which ships with the package. The
ranking smooths the counts with what each cause declares (engine/likelihood.py).
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firstbreak.engine import likelihood
from firstbreak.engine.detection import check
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.judgement import judge
from firstbreak.engine.rank import rank
from firstbreak.model import Outcome, Run, Severity, Status
from firstbreak.readers.read import read
from firstbreak_lab import corpus
from firstbreak_lab.population.build import packs, unpacked
from firstbreak_lab.population.family import PopulationLabel
from firstbreak_lab.running import Label

Counts = dict[str, dict[str, list[int]]]  #: cause (or "healthy") -> detector -> [critical, serious, measured]


def in_training(label: Label) -> bool:
    """Whether a run belongs to the training split."""
    return corpus.split(label) == "train"


@dataclass(frozen=True)
class Checked:
    """A run of the lab with the results of the detectors. The samples of the run are not kept."""

    label: Label
    run: Run
    outcomes: Sequence[Outcome]

    @property
    def cause(self) -> str:
        """The cause of the injected fault, or "healthy"."""
        return self.label.cause or likelihood.HEALTHY


def examine(
    folder: Path,
    *,
    wanted: Callable[[Label], bool] = in_training,
    harmless: Callable[[Label], bool] = lambda label: False,
    report: Callable[[Label], None] = lambda label: None,
) -> Iterator[Checked]:
    """The `wanted` runs of a corpus, checked.

    Runs for which `harmless` is true have a fault that did no harm. They are neither healthy nor broken and are left out.
    """
    for label, run in corpus.runs(folder, wanted):
        if label.cause is None or not harmless(label):
            report(label)
            yield _checked(label, run)


def population(folder: Path) -> Iterator[Checked]:
    """The healthy runs of a population, checked at their end."""
    for pack in packs(folder):
        with unpacked(pack) as runs:
            for path, label in runs:
                if label.link is None:
                    yield _checked(label, read(path))


def left_out_with(label: Label) -> str:
    """What is left out together when one run is judged: its task in the corpus, its trainer family in the population."""
    return label.family if isinstance(label, PopulationLabel) else label.base


def _checked(label: Label, run: Run) -> Checked:
    return Checked(label, replace(run, samples=None), check(run))


def count(checked: Iterable[Checked]) -> Counts:
    """How often each detector reported a finding, per cause."""
    counts: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for run in checked:
        for outcome in run.outcomes:
            _count(counts[run.cause][outcome.detector], outcome)
    return {cause: {d: c for d, c in sorted(per.items()) if c[2]} for cause, per in sorted(counts.items())}


def added(tables: Iterable[Counts]) -> Counts:
    """The sum of the counts of several parts of a corpus."""
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


def _weighed_by(checked: Sequence[Checked]) -> AbstractContextManager[None]:
    table = count(checked)
    cells = {cause: {name: (c, s, n) for name, (c, s, n) in per.items()} for cause, per in table.items()}
    return likelihood.instead(cells)


COVERED = 0.95  #: share of broken runs whose onset the interval must contain; milder faults show later


def onset_margin(checked: Sequence[Checked]) -> float:
    """How much earlier the intervals must begin, as a share of the run, to contain the onset of COVERED of the training runs.

    Conformal prediction: the score is the distance from the onset to the interval. The weights of a run come from runs of
    other seeds.
    """
    distances = []
    for seed in sorted({run.label.seed for run in checked}):
        with _weighed_by([run for run in checked if run.label.seed != seed]):
            for run in checked:
                onset = run.label.onset
                if run.label.seed != seed or onset is None:
                    continue
                inputs = Inputs(run.run)
                first = judge(inputs, run.outcomes, rank(inputs, run.outcomes), None).first_break
                if first is not None and first.interval is not None:
                    distances.append(max(first.interval[0] - onset, 0.0) / run.label.steps)
    k = math.ceil(COVERED * (len(distances) + 1))
    return float(sorted(distances)[k - 1]) if distances and k <= len(distances) else 0.0


def write(folder: Path, about: dict[str, Any], drawn: Sequence[Checked] = (), **options: Any) -> Path:
    """Measure the weights and write the file that the ranking reads. `about` says where the figures come from.

    `drawn`: healthy runs of the population.
    """
    checked = [*examine(folder, **options), *drawn]
    head = {
        **about,
        "runs": dict(sorted(Counter(run.cause for run in checked).items())),
        "onset_margin": round(onset_margin(checked), 4),
    }
    families = sorted({left_out_with(run.label) for run in drawn})
    healthy = {f: count(run for run in drawn if left_out_with(run.label) == f)[likelihood.HEALTHY] for f in families}
    tables = {"population": healthy, "counts": count(checked)}
    body = ",\n".join(f' "{name}": {_lines(table)}' for name, table in tables.items())
    text = f"{json.dumps(head, indent=1).removesuffix(chr(10) + '}')},\n{body}\n}}\n"
    likelihood.MEASURED.write_text(text)
    return likelihood.MEASURED


def of_population() -> dict[str, dict[str, likelihood.Cell]]:
    """Trainer family of the population -> detector -> (critical, serious, measured) in its healthy runs, as written."""
    table = likelihood.written().get("population", {})
    return {family: {name: tuple(cell) for name, cell in per.items()} for family, per in table.items()}


def without_family(family: str) -> dict[str, Mapping[str, likelihood.Cell]]:
    """The written counts without the healthy runs of one trainer family: for what is said of its runs."""
    own, every = of_population().get(family, {}), likelihood.counts().cells
    healthy = dict(every.get(likelihood.HEALTHY, {}))
    for name in healthy.keys() & own.keys():
        (critical, serious, measured), less = healthy[name], own[name]
        healthy[name] = critical - less[0], serious - less[1], measured - less[2]
    return {**every, likelihood.HEALTHY: healthy}


def _lines(table: Counts) -> str:
    """A table as JSON, one line for each row."""
    rows = ",\n".join(f'  "{name}": {json.dumps(per)}' for name, per in table.items())
    return f"{{\n{rows}\n }}"
