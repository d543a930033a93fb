"""Scores a diagnoser on the runs of a corpus, whose answers are known.

What counts as what (see gate.py for admission, corpus.py for the split):

    faulty      a fault was planted, and its setting was admitted: it does harm
    departed    a fault was planted, and does no harm: it may be mentioned, and must not be stopped
    unjudged    a fault was planted, and there are too few seeds to tell; kept apart from everything
    healthy     nothing was planted

A fault that was not found counts as a wrong link and a wrong cause.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.engine import likelihood
from firstbreak.engine.read import read
from firstbreak.lab import weights
from firstbreak.lab.corpus import labels, opened, split, until
from firstbreak.lab.diagnosers import EVERYTHING, HEALTHY, Answer, Diagnoser, diagnosers
from firstbreak.lab.gate import admissions
from firstbreak.lab.plants import catalogue
from firstbreak.lab.running import Label
from firstbreak.model import Run

BINS = 10  #: of the reliability table
REPLAYS = weights.LOOKS  #: prefixes of a run that are diagnosed when it is replayed live
FOUND_MOSTLY = 0.5  #: a severity counts as found where at least so many of its runs are


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one diagnoser said of one run."""

    label: Label
    kind: str  #: "faulty", "departed", "unjudged" or "healthy"
    answer: Answer
    seconds: float  #: to diagnose a run that has been read
    error: str = ""  #: where the diagnoser failed; its answer then is that nothing is broken
    found_at: tuple[float, ...] = ()  #: shares of the run after which it was found broken, when replayed live
    stopped_at: tuple[float, ...] = ()  #: and after which the advice was to stop

    @property
    def right_link(self) -> bool:
        """Found, and the planted link named."""
        return self.answer.found and self.answer.link == self.label.link

    def right_cause(self, among: int) -> bool:
        """Found, and the planted cause among the first so many."""
        return self.answer.found and self.label.cause in self.answer.causes[:among]

    @property
    def onset_share(self) -> float:
        """Where the fault starts, as a share of the run."""
        return (self.label.onset or 0) / self.label.steps


# Asking -----------------------------------------------------------------------------------------------------------------


def ask(
    folder: Path,
    asked: Sequence[Diagnoser],
    *,
    wanted: Callable[[Label], bool] = lambda label: split(label) == "test",
    live: bool = False,
    trusting: bool = False,
    processes: int = 1,
) -> Iterator[dict[str, Row]]:
    """What each diagnoser says, run by run; `live` also replays each run from its start in REPLAYS steps.

    `trusting` counts the faults that cannot be judged yet as faulty: a look at a corpus that is half built.
    """
    found = labels(folder)
    kinds = kind_of(found.values(), trusting=trusting)
    chosen = [archive for archive, label in found.items() if wanted(label)]
    with ProcessPoolExecutor(processes) as pool:
        for rows in pool.map(partial(_examine, folder, asked, live), chosen):
            yield {name: replace(row, kind=kinds(row.label)) for name, row in rows.items()}


def kind_of(every: Iterable[Label], *, trusting: bool = False) -> Callable[[Label], str]:
    """Tells what each run counts as, given the labels of the whole corpus."""
    unjudged = "faulty" if trusting else "unjudged"
    verdicts = {admission.setting: admission for admission in admissions(every)}

    def kind(label: Label) -> str:
        if label.link is None:
            return "healthy"
        verdict = verdicts[label.plant, label.base, label.severity]
        return "faulty" if verdict.admitted else "departed" if verdict.judged else unjudged

    return kind


def _examine(folder: Path, asked: Sequence[Diagnoser], live: bool, archive: str) -> dict[str, Row]:
    with opened(folder, archive) as (path, label):
        run = read(path)
        return {d.name: _row(d, run, label, live) for d in asked}


def _row(diagnoser: Diagnoser, run: Run, label: Label, live: bool) -> Row:
    start = time.perf_counter()
    answer, error = answer_of(diagnoser, run)
    seconds = time.perf_counter() - start
    shares = np.arange(1, REPLAYS + 1) / REPLAYS if live else ()
    replayed = [(float(share), answer_of(diagnoser, until(run, share * label.steps))[0]) for share in shares]
    return Row(
        label=label,
        kind="",
        answer=answer,
        seconds=seconds,
        error=error,
        found_at=tuple(share for share, said in replayed if said.found),
        stopped_at=tuple(share for share, said in replayed if said.stop),
    )


def answer_of(diagnoser: Diagnoser, run: Run) -> tuple[Answer, str]:
    """What a diagnoser says of a run, and how it failed; one that fails has found nothing."""
    try:
        return diagnoser.answer(run), ""
    except ImportError:
        raise  # a missing package is no property of a diagnoser
    except Exception as error:  # a diagnoser that fails has found nothing
        return Answer(found=False, critical=False), f"{type(error).__name__}: {error}"


# Scoring ----------------------------------------------------------------------------------------------------------------


def score(rows: Sequence[Row], gives: frozenset[str]) -> dict[str, Any]:
    """Every figure of one diagnoser; None where it gives no such answer, or where there is no run to tell by.

    Shares lie in 0..1, times are in seconds, distances in shares of the run.
    """
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    faulty, healthy = by_kind["faulty"], by_kind["healthy"]
    ece, reliability = calibration([_belief(row) for row in (*faulty, *healthy) if row.answer.belief])
    return {
        **headline(rows, gives),
        "n_departed": len(by_kind["departed"]),
        "departed_stop": _share("stop" in gives, [row.answer.stop for row in by_kind["departed"]]),
        "departed_mentioned": _share(True, [row.answer.found for row in by_kind["departed"]]),
        "n_unjudged": len(by_kind["unjudged"]),
        "ece": ece if "belief" in gives else None,
        "reliability": reliability if "belief" in gives else None,
        "seconds_per_run": _median([row.seconds for row in rows]),
        "failed": sum(bool(row.error) for row in rows),
        "live": _live(faulty, healthy),
        "confusion": _confusion(faulty) if "link" in gives else None,
        "by_chance": by_chance(faulty, gives),
        "faults": {plant: _of_fault(part, gives) for plant, part in _grouped(faulty, lambda row: row.label.plant)},
        "healthy": {plant: _of_healthy(part) for plant, part in _grouped(healthy, lambda row: row.label.plant)},
    }


def headline(rows: Sequence[Row], gives: frozenset[str]) -> dict[str, Any]:
    """The figures by which diagnosers are compared."""
    faulty = [row for row in rows if row.kind == "faulty"]
    healthy = [row for row in rows if row.kind == "healthy"]
    onsets = [row for row in faulty if row.answer.found and row.answer.onset is not None]
    intervals = [row for row in faulty if row.answer.found and row.answer.interval is not None]
    return {
        "n_faulty": len(faulty),
        "n_healthy": len(healthy),
        "detection": _share(True, [row.answer.found for row in faulty]),
        "detection_stop": _share("stop" in gives, [row.answer.stop for row in faulty]),
        "link_top1": _share("link" in gives, [row.right_link for row in faulty]),
        "cause_top1": _share("cause" in gives, [row.right_cause(1) for row in faulty]),
        "cause_top3": _share("cause" in gives, [row.right_cause(3) for row in faulty]),
        "healthy_found": _share(True, [row.answer.found for row in healthy]),
        "healthy_critical": _share(True, [row.answer.critical for row in healthy]),
        "healthy_stop": _share("stop" in gives, [row.answer.stop for row in healthy]),
        "onset_error_median": _median([_onset_error(row) for row in onsets]) if "onset" in gives else None,
        "interval_coverage": _share("interval" in gives, [_covered(row) for row in intervals]),
    }


def by_chance(faulty: Sequence[Row], gives: frozenset[str], draws: int = 200) -> dict[str, float | None]:
    """What the same answers would score if the truths were dealt out at random among the faulty runs.

    A score that is not well above this is an artefact of how often each answer is given.
    """
    rng = np.random.default_rng(0)
    truths = [row.label for row in faulty]
    dealt = [
        replace(row, label=truths[i])
        for _ in range(draws)
        for row, i in zip(faulty, rng.permutation(len(faulty)), strict=True)
    ]
    return {
        "link_top1": _share("link" in gives, [row.right_link for row in dealt]),
        "cause_top1": _share("cause" in gives, [row.right_cause(1) for row in dealt]),
        "cause_top3": _share("cause" in gives, [row.right_cause(3) for row in dealt]),
    }


def calibration(beliefs: Sequence[tuple[float, bool]], bins: int = BINS) -> tuple[float | None, list[dict[str, Any]]]:
    """Expected calibration error of (probability, was it right), and the reliability table behind it.

    Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI 2015.
    """
    if not beliefs:
        return None, []
    said, right = np.array(beliefs, dtype=float).T
    place = np.minimum((said * bins).astype(int), bins - 1)
    table = [
        {
            "from": i / bins,
            "to": (i + 1) / bins,
            "n": int(inside.sum()),
            "said": float(said[inside].mean()),
            "right": float(right[inside].mean()),
        }
        for i in range(bins)
        if (inside := place == i).any()
    ]
    return sum(b["n"] * abs(b["said"] - b["right"]) for b in table) / len(beliefs), table


def _belief(row: Row) -> tuple[float, bool]:
    assert row.answer.belief is not None
    candidate, probability = row.answer.belief
    return probability, candidate == (row.label.cause or HEALTHY)


def _onset_error(row: Row) -> float:
    assert row.answer.onset is not None
    assert row.label.onset is not None
    return abs(row.answer.onset - row.label.onset) / row.label.steps


def _covered(row: Row) -> bool:
    assert row.answer.interval is not None
    assert row.label.onset is not None
    low, high = row.answer.interval
    return low <= row.label.onset <= high


def _live(faulty: Sequence[Row], healthy: Sequence[Row]) -> dict[str, Any] | None:
    """How late a fault is seen when the run is replayed, and how many healthy runs are accused on the way.

    The delay is that of the first prefix after the onset at which something was found, in shares of the run.
    """
    if not any(row.found_at for row in (*faulty, *healthy)):
        return None
    delays = [
        min(after) - row.onset_share
        for row in faulty
        if (after := [share for share in row.found_at if share >= row.onset_share])
    ]
    return {
        "delay_median": _median(delays),
        "found": _share(True, [any(share >= row.onset_share for share in row.found_at) for row in faulty]),
        "healthy_ever_found": _share(True, [bool(row.found_at) for row in healthy]),
        "healthy_ever_stopped": _share(True, [bool(row.stopped_at) for row in healthy]),
    }


def _confusion(faulty: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Planted link -> link that was named -> runs."""
    named = [(row.label.link or "", row.answer.link if row.answer.found else None) for row in faulty]
    return {
        link: dict(Counter(said or "nothing" for planted, said in named if planted == link))
        for link in dict.fromkeys(planted for planted, _ in named)
    }


def _of_fault(rows: Sequence[Row], gives: frozenset[str]) -> dict[str, Any]:
    wanted = ("detection", "detection_stop", "link_top1", "cause_top1", "cause_top3")
    figures = headline(rows, gives)
    weakest = {base: _weakest(part) for base, part in _grouped(rows, lambda row: row.label.base)}
    return {"n": len(rows), **{name: figures[name] for name in wanted}, "weakest_found": weakest}


def _weakest(rows: Sequence[Row]) -> float | None:
    """The mildest harmful severity of which most runs are found; None where there is none."""
    ladder = catalogue()[rows[0].label.plant].bases[rows[0].label.base]
    by_severity = dict(_grouped(rows, lambda row: row.label.severity))
    for severity in ladder:
        part = by_severity.get(severity, [])
        if part and np.mean([row.answer.found for row in part]) >= FOUND_MOSTLY:
            return severity
    return None


def _of_healthy(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "n": len(rows),
        "found": _share(True, [row.answer.found for row in rows]),
        "critical": _share(True, [row.answer.critical for row in rows]),
        "stop": _share(True, [row.answer.stop for row in rows]),
    }


def _grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[tuple[Any, list[Row]]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def _share(given: bool, hits: Sequence[bool]) -> float | None:
    return float(np.mean(hits)) if given and len(hits) else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


# The whole benchmark ------------------------------------------------------------------------------------------------------


def leave_one_out(folder: Path, key: Callable[[Label], str], *, processes: int = 1) -> dict[str, Any]:
    """The headline of firstbreak on every task or trainer (`key` of a label) that its weights have not seen.

    The weights are counted anew in the training runs of all the others, and the part that was left out is diagnosed whole.
    """
    found = list(labels(folder).values())
    kind = kind_of(found)
    parts = sorted({key(label) for label in found})
    tables = {
        part: weights.count(
            weights.examine(
                folder,
                wanted=lambda label, part=part: key(label) == part and weights.in_training(label),  # type: ignore[misc]
                departed=lambda label: kind(label) == "departed",
            )
        )
        for part in parts
    }
    headlines = {}
    for part in parts:
        others = weights.added(table for name, table in tables.items() if name != part)
        ours = Diagnoser("", EVERYTHING, partial(_weighed_by, others))
        rows = ask(folder, [ours], wanted=lambda label, part=part: key(label) == part, processes=processes)  # type: ignore[misc]
        headlines[part] = headline([said[""] for said in rows], ours.gives)
    return headlines


def _weighed_by(counts: weights.Counts, run: Run) -> Answer:
    table = {cause: {name: (c, s, n) for name, (c, s, n) in per.items()} for cause, per in counts.items()}
    with likelihood.instead(table):
        return diagnosers()["firstbreak"].answer(run)


def report(folder: Path, answers: Mapping[str, Sequence[Row]], gives: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """The figures of every diagnoser, and those of the corpus that they were measured on."""
    every = list(labels(folder).values())
    verdicts = admissions(every)
    healthy = sum(label.link is None for label in every)
    return {
        "n_faults": len({label.plant for label in every if label.link is not None}),
        "n_faults_admitted": len({verdict.plant for verdict in verdicts if verdict.admitted}),
        "n_runs_corpus": len(every),
        "settings": {
            "admitted": sum(verdict.admitted for verdict in verdicts),
            "rejected": sum(verdict.judged and not verdict.admitted for verdict in verdicts),
            "unjudged": sum(not verdict.judged for verdict in verdicts),
        },
        **{name: {**score(rows, gives[name]), "n_healthy_corpus": healthy} for name, rows in answers.items()},
    }
