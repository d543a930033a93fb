"""What is said of each test run, in steps from abroad to home. Kept in a file: a measurement that was interrupted continues.

The file belongs to this code and this corpus. After a change of either it is begun again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from firstbreak_lab import weights
from firstbreak_lab.bench import counted_without, kind_of
from firstbreak_lab.corpus import Job, labels, opened, split, until
from firstbreak_lab.harm_test import TWIN
from firstbreak_lab.running import Label

from benchmarks.abroad.stranger import Draw, brought, drawn
from benchmarks.abroad.visible import p_value
from benchmarks.size import place
from firstbreak.engine import likelihood
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import by_link, rank
from firstbreak.model import Action, Link, LinkStatus, Outcome, Run, Severity, Status
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "out" / "abroad.jsonl"  #: not committed
#: all that decides an answer
MADE_FROM = (
    "src/firstbreak/engine/**/*.*",
    "src/firstbreak/dialects/**/*.py",
    "src/firstbreak/readers/**/*.py",
    "lab/src/firstbreak_lab/weights.py",
    *(f"benchmarks/abroad/{name}.py" for name in ("default_curves", "stranger", "visible", "answers")),
)

#: from abroad to home: each step adds one thing to the step before it
STEPS = ("abroad", "configuration", "samples", "known trainer", "whole length", "home")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is said of one run."""

    link: str | None  #: the link of the first break; None: not called broken
    stop: bool
    cause: str  #: the most probable one
    healthy: float  #: its probability
    also: str | None  #: the link that it cannot be told apart from
    stated: float  #: the probability of the one or two links that were named
    #: link -> its probability if something is broken, and the probability of its most probable cause
    links: Mapping[str, tuple[float, float]]
    spoke: Mapping[str, str]  #: detector -> severity, where it found something more than a notice
    mute: tuple[str, ...]  #: detectors that could not look
    blind: tuple[str, ...]  #: links that were not measured


@dataclass(frozen=True, kw_only=True)
class Row:
    """One test run, shown as one draw has it."""

    archive: str
    number: int  #: of the draw
    trainer: str
    end: float  #: share of the run
    cadence: int
    evaluated: bool
    lost: tuple[str, ...]
    p: float | None  #: that nothing can be seen; None for a run that is not faulty
    answers: Mapping[str, Answer]  #: by step


# Asking -----------------------------------------------------------------------------------------------------------------


def rows(corpus: Path, draws: int = 1, processes: int | None = None, kept: Path | None = None) -> list[Row]:
    """The rows of all faulty and healthy test runs; those that the file `kept` holds are not measured again."""
    every = labels(corpus)
    kind = kind_of(every.values())
    wanted = [
        (archive, number)
        for number in range(draws)
        for archive, label in every.items()
        if split(label) == "test" and kind(label) in ("faulty", "healthy")
    ]
    kept = kept or place(KEPT)
    without, known = _kept(kept, corpus)
    missing = [job for job in wanted if job not in known]
    with kept.open("a") as file, ProcessPoolExecutor(processes) as pool:
        for row in pool.map(partial(examine, corpus, without), *zip(*missing, strict=True)) if missing else ():
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()
            known[row.archive, row.number] = row
    return [known[job] for job in wanted]


def _kept(path: Path, corpus: Path) -> tuple[dict[str, weights.Counts], dict[tuple[str, int], Row]]:
    """The counts without each trainer, and the rows that the file holds. The file begins again where it is out of date."""
    made_from = _fingerprint(corpus)
    if path.exists():
        first, *others = path.read_text().splitlines()
        head = json.loads(first)
        if head["made from"] == made_from:
            found = [row_from(json.loads(line)) for line in others]
            return head["without"], {(row.archive, row.number): row for row in found}
    without = counted_without(corpus, trainer)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"made from": made_from, "without": without}) + "\n")
    return without, {}


def row_from(stored: Mapping[str, Any]) -> Row:
    """A row from its JSON."""
    return Row(**{**stored, "answers": {step: Answer(**answer) for step, answer in stored["answers"].items()}})


def _fingerprint(corpus: Path) -> str:
    digest = hashlib.sha256((corpus / "manifest.json").read_bytes())
    for path in sorted(path for pattern in MADE_FROM for path in ROOT.glob(pattern) if path.suffix in (".py", ".json")):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def trainer(label: Label) -> str:
    """The lab's trainer of a run: the first part of the base's name."""
    return label.base.partition("/")[0]


# One run ------------------------------------------------------------------------------------------------------------------


def examine(corpus: Path, without: Mapping[str, weights.Counts], archive: str, number: int) -> Row:
    """What is said of one run at each of the steps. `without`: trainer -> the counts of the others."""
    with opened(corpus, archive) as (folder, label):
        run = read(folder)
        draw = drawn(archive, label, number)
        return Row(
            archive=archive,
            number=number,
            trainer=draw.trainer.dialect,
            end=round(draw.end, 3),
            cadence=draw.cadence,
            evaluated=draw.evaluated,
            lost=tuple(sorted(draw.lost)),
            p=seen(corpus, archive, label, draw) if label.link is not None else None,
            answers=_answers(run, label, draw, without[trainer(label)]),
        )


def seen(corpus: Path, archive: str, label: Label, draw: Draw) -> float:
    """The p value of a fault in a draw, from the seeds of this fault and those of the unchanged base."""
    setting = archive.rpartition("-")[0]
    twins = Job(TWIN, label.base, 0.0, 0).archive.rpartition("-")[0]
    faulty, healthy = (sorted(corpus.glob(f"{name}-*.tar.xz")) for name in (setting, twins))
    return p_value([_curves(path) for path in faulty], [_curves(path) for path in healthy], label, draw)


@lru_cache(maxsize=32)
def _curves(archive: Path) -> Run:
    with opened(archive.parent, archive.name) as (folder, _):
        return replace(read(folder), samples=None)


def _answers(run: Run, label: Label, draw: Draw, without: weights.Counts) -> dict[str, Answer]:
    def known(run_: Run, end: float) -> Run:
        samples = until(run, end * label.steps).samples
        return replace(run_, config=run.config, algorithm=run_.algorithm or run.algorithm, samples=samples)

    abroad, whole = (brought(run, one, label.steps) for one in (draw, draw.whole))
    sampled = known(abroad, draw.end)
    outcomes = check(sampled)
    shown = {"abroad": abroad, "configuration": replace(sampled, samples=None)}
    others = {"whole length": known(whole, 1.0), "home": run}
    with likelihood.instead({c: {name: (k, s, n) for name, (k, s, n) in per.items()} for c, per in without.items()}):
        answers = {step: answer(one, check(one)) for step, one in shown.items()}
        answers["samples"] = answer(sampled, outcomes)
    answers["known trainer"] = answer(sampled, outcomes)
    return answers | {step: answer(one, check(one)) for step, one in others.items()}


def answer(run: Run, outcomes: Sequence[Outcome]) -> Answer:
    """What is said of a run, with the links of all causes and not only of the most probable ones."""
    diagnosis, ranked = diagnose(run, outcomes), rank(Inputs(run), outcomes)
    first = diagnosis.first_break
    best: dict[Link, float] = {}
    for cause in ranked:
        if cause.link is not None:
            best[cause.link] = max(best.get(cause.link, 0.0), cause.probability)
    return Answer(
        link=first.link.value if first else None,
        stop=diagnosis.verdict.action in (Action.STOP, Action.ROLLBACK),
        cause=next((c.id for c in ranked if c.link is not None), ""),
        healthy=next(c.probability for c in ranked if c.id == likelihood.HEALTHY),
        also=first.also.value if first and first.also else None,
        stated=first.probability if first else 0.0,
        links={link.value: (probability, best[link]) for link, probability in by_link(ranked).items()},
        spoke={
            o.detector: f.severity.value for o in outcomes if (f := o.finding) and f.severity is not Severity.NOTICE
        },
        mute=tuple(o.detector for o in outcomes if o.status not in (Status.OK, Status.FOUND)),
        blind=tuple(link.value for link, state in diagnosis.links.items() if state.status is LinkStatus.NOT_MEASURED),
    )
