"""What the causes' weights rest on: how often each detector speaks in runs of the lab with a known cause, and in healthy ones.

Only the training split is counted. Counts are written to `causes/measured.json`, which ships with the package; the ranking
smooths them with what each cause declares (engine/likelihood.py).
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.engine import likelihood
from firstbreak.engine.check import check
from firstbreak.engine.diagnose import find_first_break
from firstbreak.engine.diagnose import healthy as probability_of_healthy
from firstbreak.engine.rank import rank
from firstbreak.inputs import Inputs
from firstbreak.lab import corpus
from firstbreak.lab.running import Label
from firstbreak.model import Outcome, Run, Severity, Status

Counts = dict[str, dict[str, list[int]]]  #: cause (or "healthy") -> detector -> [critical, serious, measured]


def in_training(label: Label) -> bool:
    """Whether a run belongs to the training split."""
    return corpus.split(label) == "train"


@dataclass(frozen=True)
class Checked:
    """A run of the lab with what the detectors said of it; its samples are not kept."""

    label: Label
    run: Run
    outcomes: Sequence[Outcome]
    earlier: Sequence[Checked] = ()  #: a healthy run as it stood at earlier looks

    @property
    def cause(self) -> str:
        """The planted cause, or "healthy"."""
        return self.label.cause or likelihood.HEALTHY


def examine(
    folder: Path,
    *,
    wanted: Callable[[Label], bool] = in_training,
    departed: Callable[[Label], bool] = lambda label: False,
    report: Callable[[Label], None] = lambda label: None,
) -> Iterator[Checked]:
    """The `wanted` runs of a corpus, checked.

    Runs for which `departed` holds carry a fault that did no harm; they speak for neither side and are left out.
    """
    for label, run in corpus.runs(folder, wanted):
        if label.cause is None or not departed(label):
            report(label)
            shares = np.arange(1, LOOKS) / LOOKS if label.link is None else ()
            earlier = tuple(_checked(label, corpus.until(run, share * label.steps)) for share in shares)
            yield replace(_checked(label, run), earlier=earlier)


def _checked(label: Label, run: Run) -> Checked:
    return Checked(label, replace(run, samples=None), check(run))


def count(checked: Iterable[Checked]) -> Counts:
    """How often each detector spoke, per cause."""
    counts: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for run in checked:
        for outcome in run.outcomes:
            _count(counts[run.cause][outcome.detector], outcome)
    return {cause: {d: c for d, c in sorted(per.items()) if c[2]} for cause, per in sorted(counts.items())}


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


# How improbable "healthy" has to be ---------------------------------------------------------------------------------------

ACCUSED = 0.05  #: share of healthy runs that may be called broken when they have ended
STOPPED = 0.02  #: share of healthy runs that may ever be stopped,
LOOKS = 5  #: when each is looked at so often


def conformal_limit(scores: Sequence[float], share: float) -> float:
    """The limit that at most `share` of exchangeable healthy runs lie at or below, given P(healthy) of such runs.

    With n scores, the floor(share (n + 1))-th smallest, exclusive; 0 where there are too few to promise anything.
    Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005, chapter 2.
    """
    k = int(share * (len(scores) + 1))
    return 0.0 if k < 1 else float(np.nextafter(sorted(scores)[k - 1], 0.0)) if k <= len(scores) else 1.0


def healthy_probabilities(checked: Sequence[Checked], of: Callable[[Checked], Sequence[Checked]]) -> list[float]:
    """For every healthy run the least P(healthy) among the looks that `of` gives, weighed by counts of other tasks.

    A user's task is none of the lab's, so no run is weighed by what its own task has taught.
    """
    scores = []
    for base in sorted({run.label.base for run in checked}):
        with _weighed_by([run for run in checked if run.label.base != base]):
            scores += [
                min(probability_of_healthy(rank(Inputs(look.run), look.outcomes)) for look in of(run))
                for run in checked
                if run.label.base == base and run.label.link is None
            ]
    return scores


def at_the_end(run: Checked) -> Sequence[Checked]:
    """One look, when the run is over."""
    return [run]


def at_every_look(run: Checked) -> Sequence[Checked]:
    """Every look: who looks often is misled more often, and a run that was stopped by mistake never gets to its end."""
    return [*run.earlier, run]


def _weighed_by(checked: Sequence[Checked]) -> AbstractContextManager[None]:
    table = count(checked)
    cells = {cause: {name: (c, s, n) for name, (c, s, n) in per.items()} for cause, per in table.items()}
    return likelihood.instead(cells)


COVERED = 0.95  #: share of broken runs whose onset the interval has to hold: milder faults than these show later


def onset_margin(checked: Sequence[Checked]) -> float:
    """Share of the run by which intervals begin earlier, so that COVERED of the training runs' onsets do not lie before them.

    Conformal prediction with the distance before the interval as the score, each run weighed by runs of other seeds.
    """
    distances = []
    for seed in sorted({run.label.seed for run in checked}):
        with _weighed_by([run for run in checked if run.label.seed != seed]):
            for run in checked:
                onset = run.label.onset
                if run.label.seed != seed or onset is None:
                    continue
                first = find_first_break(run.outcomes, rank(Inputs(run.run), run.outcomes))
                if first is not None and first.interval is not None:
                    distances.append(max(first.interval[0] - onset, 0.0) / run.label.steps)
    k = math.ceil(COVERED * (len(distances) + 1))
    return float(sorted(distances)[k - 1]) if distances and k <= len(distances) else 0.0


def write(folder: Path, about: dict[str, Any], **options: Any) -> Path:
    """Measure, and write what the ranking reads; `about` says where the figures come from."""
    checked = list(examine(folder, **options))
    ended, looked_at = (healthy_probabilities(checked, looks) for looks in (at_the_end, at_every_look))
    head = {
        **about,
        "runs": dict(sorted(Counter(run.cause for run in checked).items())),
        "accuse_below": round(conformal_limit(ended, ACCUSED), 4),
        "stop_below": round(conformal_limit(looked_at, STOPPED), 4),
        "calibrated_on": len(ended),
        "onset_margin": round(onset_margin(checked), 4),
    }
    body = ",\n".join(f'  "{cause}": {json.dumps(per)}' for cause, per in count(checked).items())
    text = json.dumps(head, indent=1).removesuffix("\n}") + f',\n "counts": {{\n{body}\n }}\n}}\n'
    likelihood.MEASURED.write_text(text)
    return likelihood.MEASURED
