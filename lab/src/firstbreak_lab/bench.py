"""Scores a diagnoser on the runs of a corpus, whose causes are known.

The four kinds of runs (see harm_test.py for admission, corpus.py for the split):

    faulty      a fault was injected, and the harm test has admitted its setting
    harmless    a fault was injected, and it does no harm: a diagnosis may mention it and must not stop the run
    unjudged    a fault was injected, and there are too few seeds for the harm test; in no figure
    healthy     no fault

A fault that was not found counts as a wrong link and a wrong cause.
"""

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
from firstbreak.model import Run
from firstbreak.readers.read import read
from firstbreak_lab import weights
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.corpus import labels, opened, split, until
from firstbreak_lab.diagnosers import EVERYTHING, HEALTHY, Diagnoser, DiagnoserAnswer, diagnosers
from firstbreak_lab.harm_test import admissions
from firstbreak_lab.running import Label

BINS = 10  #: of the reliability table
REPLAYS = 5  #: points at which a run is diagnosed when it is replayed live
FOUND_MOSTLY = 0.5  #: a severity counts as found if this share of its runs is found


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """The answer of one diagnoser for one run."""

    label: Label
    kind: str  #: "faulty", "harmless", "unjudged" or "healthy"
    answer: DiagnoserAnswer
    seconds: float  #: for the diagnosis, without reading the run
    error: str = ""  #: why the diagnoser failed; a failed diagnoser has found nothing
    found_at: tuple[float, ...] = ()  #: checks of the live replay that found the run broken, as shares of the run
    stopped_at: tuple[float, ...] = ()  #: checks of the live replay that advised to stop

    @property
    def right_link(self) -> bool:
        """Found, with the link of the injected fault."""
        return self.answer.found and self.answer.link == self.label.link

    def right_cause(self, among: int) -> bool:
        """Found, with the cause of the injected fault among the first `among` causes."""
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
) -> Iterator[dict[str, BenchRow]]:
    """The answers of each diagnoser, run by run. With `live`, each run is also diagnosed at REPLAYS points.

    With `trusting`, faults with too few seeds for the harm test count as faulty, for a corpus that is not complete yet.
    """
    found = labels(folder)
    kinds = kind_of(found.values(), trusting=trusting)
    chosen = [archive for archive, label in found.items() if wanted(label)]
    with ProcessPoolExecutor(processes) as pool:
        for rows in pool.map(partial(_examine, folder, asked, live), chosen):
            yield {name: replace(row, kind=kinds(row.label)) for name, row in rows.items()}


def kind_of(every: Iterable[Label], *, trusting: bool = False) -> Callable[[Label], str]:
    """A function that gives the kind of each run. It needs the labels of the whole corpus."""
    unjudged = "faulty" if trusting else "unjudged"
    verdicts = {admission.setting: admission for admission in admissions(every)}

    def kind(label: Label) -> str:
        if label.link is None:
            return "healthy"
        verdict = verdicts[label.variant, label.base, label.severity]
        return "faulty" if verdict.admitted else "harmless" if verdict.judged else unjudged

    return kind


def _examine(folder: Path, asked: Sequence[Diagnoser], live: bool, archive: str) -> dict[str, BenchRow]:
    with opened(folder, archive) as (path, label):
        run = read(path)
        return {d.name: _row(d, run, label, live) for d in asked}


def _row(diagnoser: Diagnoser, run: Run, label: Label, live: bool) -> BenchRow:
    start = time.perf_counter()
    answer, error = answer_of(diagnoser, run)
    seconds = time.perf_counter() - start
    shares = np.arange(1, REPLAYS + 1) / REPLAYS if live else ()
    replayed = [(float(share), answer_of(diagnoser, until(run, share * label.steps))[0]) for share in shares]
    return BenchRow(
        label=label,
        kind="",
        answer=answer,
        seconds=seconds,
        error=error,
        found_at=tuple(share for share, given in replayed if given.found),
        stopped_at=tuple(share for share, given in replayed if given.stop),
    )


def answer_of(diagnoser: Diagnoser, run: Run) -> tuple[DiagnoserAnswer, str]:
    """The answer of a diagnoser for a run, and its error. A diagnoser that fails has found nothing."""
    try:
        return diagnoser.answer(run), ""
    except ImportError:
        raise  # a missing package says nothing about the diagnoser
    except Exception as error:  # a diagnoser that fails has found nothing
        return DiagnoserAnswer(found=False, critical=False), f"{type(error).__name__}: {error}"


# Scoring ----------------------------------------------------------------------------------------------------------------


def score(rows: Sequence[BenchRow], gives: frozenset[str]) -> dict[str, Any]:
    """Every figure of one diagnoser. None if the diagnoser does not give this answer, or if there is no run to measure.

    Shares are between 0 and 1, times are in seconds, distances are shares of the run.
    """
    by_kind: dict[str, list[BenchRow]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    faulty, healthy = by_kind["faulty"], by_kind["healthy"]
    ece, reliability = calibration([_belief(row) for row in (*faulty, *healthy) if row.answer.belief])
    return {
        **headline(rows, gives),
        "n_harmless": len(by_kind["harmless"]),
        "harmless_stop": _share("stop" in gives, [row.answer.stop for row in by_kind["harmless"]]),
        "harmless_mentioned": _share(True, [row.answer.found for row in by_kind["harmless"]]),
        "n_unjudged": len(by_kind["unjudged"]),
        "ece": ece if "belief" in gives else None,
        "reliability": reliability if "belief" in gives else None,
        "seconds_per_run": _median([row.seconds for row in rows]),
        "failed": sum(bool(row.error) for row in rows),
        "live": _live(faulty, healthy),
        "confusion": _confusion(faulty) if "link" in gives else None,
        "by_chance": by_chance(faulty, gives),
        "faults": {
            variant: _of_fault(part, gives) for variant, part in _grouped(faulty, lambda row: row.label.variant)
        },
        "healthy": {variant: _of_healthy(part) for variant, part in _grouped(healthy, lambda row: row.label.variant)},
    }


def headline(rows: Sequence[BenchRow], gives: frozenset[str]) -> dict[str, Any]:
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


def by_chance(faulty: Sequence[BenchRow], gives: frozenset[str], draws: int = 200) -> dict[str, float | None]:
    """The scores of the same answers if the labels are shuffled among the faulty runs.

    A score close to this one only shows how often each answer is given.
    """
    rng = np.random.default_rng(0)
    true_labels = [row.label for row in faulty]
    shuffled = [
        replace(row, label=true_labels[i])
        for _ in range(draws)
        for row, i in zip(faulty, rng.permutation(len(faulty)), strict=True)
    ]
    return {
        "link_top1": _share("link" in gives, [row.right_link for row in shuffled]),
        "cause_top1": _share("cause" in gives, [row.right_cause(1) for row in shuffled]),
        "cause_top3": _share("cause" in gives, [row.right_cause(3) for row in shuffled]),
    }


def calibration(beliefs: Sequence[tuple[float, bool]], bins: int = BINS) -> tuple[float | None, list[dict[str, Any]]]:
    """Expected calibration error of pairs (probability, right or wrong), and the reliability table behind it.

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


def _belief(row: BenchRow) -> tuple[float, bool]:
    assert row.answer.belief is not None
    candidate, probability = row.answer.belief
    return probability, candidate == (row.label.cause or HEALTHY)


def _onset_error(row: BenchRow) -> float:
    assert row.answer.onset is not None
    assert row.label.onset is not None
    return abs(row.answer.onset - row.label.onset) / row.label.steps


def _covered(row: BenchRow) -> bool:
    assert row.answer.interval is not None
    assert row.label.onset is not None
    low, high = row.answer.interval
    return low <= row.label.onset <= high


def _live(faulty: Sequence[BenchRow], healthy: Sequence[BenchRow]) -> dict[str, Any] | None:
    """How late a fault is found in the live replay, and how many healthy runs are called broken at any check.

    The delay is the time from the onset to the first check that found something, as a share of the run.
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


def _confusion(faulty: Sequence[BenchRow]) -> dict[str, dict[str, int]]:
    """Link of the injected fault -> link that the diagnoser named -> number of runs."""
    named = [(row.label.link or "", row.answer.link if row.answer.found else None) for row in faulty]
    return {
        link: dict(Counter(given or "nothing" for true, given in named if true == link))
        for link in dict.fromkeys(true for true, _ in named)
    }


def _of_fault(rows: Sequence[BenchRow], gives: frozenset[str]) -> dict[str, Any]:
    wanted = ("detection", "detection_stop", "link_top1", "cause_top1", "cause_top3")
    figures = headline(rows, gives)
    weakest = {base: _weakest(part) for base, part in _grouped(rows, lambda row: row.label.base)}
    return {"n": len(rows), **{name: figures[name] for name in wanted}, "weakest_found": weakest}


def _weakest(rows: Sequence[BenchRow]) -> float | None:
    """The mildest harmful severity of which most runs are found. None if there is no such severity."""
    ladder = catalogue()[rows[0].label.variant].bases[rows[0].label.base]
    by_severity = dict(_grouped(rows, lambda row: row.label.severity))
    for severity in ladder:
        part = by_severity.get(severity, [])
        if part and np.mean([row.answer.found for row in part]) >= FOUND_MOSTLY:
            return severity
    return None


def _of_healthy(rows: Sequence[BenchRow]) -> dict[str, Any]:
    return {
        "n": len(rows),
        "found": _share(True, [row.answer.found for row in rows]),
        "critical": _share(True, [row.answer.critical for row in rows]),
        "stop": _share(True, [row.answer.stop for row in rows]),
    }


def _grouped(rows: Iterable[BenchRow], key: Callable[[BenchRow], Any]) -> list[tuple[Any, list[BenchRow]]]:
    groups: dict[Any, list[BenchRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def _share(given: bool, hits: Sequence[bool]) -> float | None:
    return float(np.mean(hits)) if given and len(hits) else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


# The whole benchmark ------------------------------------------------------------------------------------------------------


def leave_one_out(folder: Path, key: Callable[[Label], str], *, processes: int = 1) -> dict[str, Any]:
    """The headline figures of firstbreak on each task or trainer (`key` of a label), with weights from all the others.

    The weights are counted again in the training runs of the other parts. Then all runs of the part left out are diagnosed.
    """
    headlines = {}
    for part, others in counted_without(folder, key).items():
        ours = Diagnoser("", EVERYTHING, partial(_weighed_by, others))
        rows = ask(folder, [ours], wanted=lambda label, part=part: key(label) == part, processes=processes)  # type: ignore[misc]
        headlines[part] = headline([answers[""] for answers in rows], ours.gives)
    return headlines


def counted_without(folder: Path, key: Callable[[Label], str]) -> dict[str, weights.Counts]:
    """Task or trainer (`key` of a label) -> the counts of all other training runs, and of the population's healthy runs.

    Runs of the population whose trainer is the same program are left out as well.
    """
    found = list(labels(folder).values())
    kind = kind_of(found)
    tables = {
        part: weights.count(
            weights.examine(
                folder,
                wanted=lambda label, part=part: key(label) == part and weights.in_training(label),  # type: ignore[misc]
                harmless=lambda label: kind(label) == "harmless",
            )
        )
        for part in sorted({key(label) for label in found})
    }
    return {
        part: weights.added([*(table for name, table in tables.items() if name != part), _drawn_without(part)])
        for part in tables
    }


#: trainer of the lab -> how the names of the population's families begin that run the same program
SAME_PROGRAM = {"classic": "sb3-", "trl": "trl-"}


def _drawn_without(part: str) -> weights.Counts:
    """The healthy runs of the population but for those of this trainer's (or task's) program."""
    same = SAME_PROGRAM.get(part.partition("/")[0])
    others = (per for family, per in weights.of_population().items() if same is None or not family.startswith(same))
    return weights.added({HEALTHY: {name: list(cell) for name, cell in per.items()}} for per in others)


def _weighed_by(counts: weights.Counts, run: Run) -> DiagnoserAnswer:
    table = {cause: {name: (c, s, n) for name, (c, s, n) in per.items()} for cause, per in counts.items()}
    with likelihood.instead(table):
        return diagnosers()["firstbreak"].answer(run)


def report(
    folder: Path, answers: Mapping[str, Sequence[BenchRow]], gives: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    """The figures of every diagnoser, and the size of the corpus."""
    every = list(labels(folder).values())
    verdicts = admissions(every)
    healthy = sum(label.link is None for label in every)
    return {
        "n_faults": len({label.variant for label in every if label.link is not None}),
        "n_faults_admitted": len({verdict.variant for verdict in verdicts if verdict.admitted}),
        "n_runs_corpus": len(every),
        "settings": {
            "admitted": sum(verdict.admitted for verdict in verdicts),
            "rejected": sum(verdict.judged and not verdict.admitted for verdict in verdicts),
            "unjudged": sum(not verdict.judged for verdict in verdicts),
        },
        **{name: {**score(rows, gives[name]), "n_healthy_corpus": healthy} for name, rows in answers.items()},
    }
