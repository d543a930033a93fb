"""What an experiment tells and costs, and whether it leaves anything behind: benchmarks/results/experiments.json.

    python -m benchmarks.experiments [learn] [ambiguous] [catalogue] [kills] [fleet]

learn      count the answers to the experiments' questions under each cause, in runs of the corpus with even seeds
ambiguous  what the single proposed experiment does for diagnoses of runs with odd seeds that are in doubt
catalogue  each experiment on a fault with a cause that the experiment is about, and on a run without this cause
kills      runner, supervisor or trainer killed at random moments: processes left, results lost
fleet      time of a survey over thousands of short runs (both: benchmarks/endurance.py)

Without arguments, everything except `learn` is measured. Each part replaces its own figures in the file. Finished experiments
are stored in --rows, so that an interrupted benchmark can be continued.

A diagnosis is *in doubt* if the first cause of the ranking (without "healthy" and "none of these") has less than 80 %, or is
not the true cause. Only runs whose fault does measurable harm are used (firstbreak_lab.harm_test). Runs with even seeds are
used to design experiments and to count their answers. Runs with odd seeds, which are all in the test split of the ranking's
weights, are only used for the figures.
"""

import argparse
import json
import math
import multiprocessing
import shlex
import statistics
import sys
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from firstbreak_lab import corpus
from firstbreak_lab.harm_test import admissions
from firstbreak_lab.running import Label, label_from

from benchmarks import endurance
from benchmarks.machine import environment
from benchmarks.size import corpus as corpus_folder
from benchmarks.size import place, sized
from benchmarks.trials import ROOT, Row, Rows, obstacle, settings_of
from firstbreak.engine.catalogue import MEASURED, Design, catalogue
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import TAKES_LONGER, Question, breaks_again
from firstbreak.engine.rank import cautious_probabilities, rank
from firstbreak.engine.stats.proportion import wilson
from firstbreak.experiments.plan import propose, weigh
from firstbreak.model import Run
from firstbreak.readers.read import read

RESULT = Path(__file__).parent / "results" / "experiments.json"
ROWS = ROOT / ".cache" / "experiments.jsonl"
CORPUS = corpus_folder()
SURE = sized(0.8, math.inf)  #: of the first cause: a ranking with less is in doubt
CLEAR = 0.25  #: P(yes) under two causes: with less between them a question is not about telling these apart
DESIGN, JUDGED = frozenset({0, 2, 4}), frozenset({1, 3})  #: seeds
TRIES = sized(3, 1)  #: faults on which a question is tried
NO_CAUSE = frozenset({"healthy", "none-of-these"})
HEALTHY = "untouched"
PARTS = ("catalogue", "ambiguous", "kills", "fleet")
KEYS = ("cause_top1_before", "cause_top1_after", "median_cost_fraction", "kills", "orphans", "lost", "fleet_runs_per_s")


# --- runs of the corpus --------------------------------------------------------------------------------------------------


@cache
def labels() -> Mapping[str, Label]:
    """Every run that the corpus' manifest lists and that lies there."""
    runs = json.loads((CORPUS / "manifest.json").read_text())["runs"]
    return {archive: label_from(run["label"]) for archive, run in runs.items() if (CORPUS / archive).exists()}


@cache
def faults() -> Mapping[str, Label]:
    """Those with a fault that does harm."""
    harmful = {a.setting for a in admissions(labels().values()) if a.admitted}
    return {a: label for a, label in labels().items() if (label.variant, label.base, label.severity) in harmful}


@dataclass(frozen=True)
class Case:
    """A run, what is believed of it, and the experiment that is proposed first."""

    archive: str
    beliefs: dict[str, float]  #: candidate -> probability, the likeliest first
    doubted: dict[str, float]  #: the same probabilities, as used together with answers
    experiment: str

    @property
    def label(self) -> Label:
        """The label of the run."""
        return labels()[self.archive]

    @property
    def design(self) -> Design:
        """The experiment's page in the catalogue."""
        return catalogue()[self.experiment]

    @property
    def first(self) -> str:
        """The likeliest cause, whether or not a healthy run is likelier."""
        return next(name for name in self.beliefs if name not in NO_CAUSE)

    @property
    def in_doubt(self) -> bool:
        """See the top of this module."""
        return self.beliefs[self.first] < SURE or self.first != self.label.cause

    def after(self, row: Row) -> str:
        """The likeliest cause once the answers count as well."""
        odds = {name: math.log(p) for name, p in self.doubted.items()}
        for question in self.design.questions:
            for name, weight in weigh(self.experiment, question, row.answer(question.asks), odds).items():
                odds[name] += weight.weight
        return max(odds.keys() - NO_CAUSE, key=lambda name: odds[name])


def case_of(archive: str) -> Case:
    """The case of one run of the corpus."""
    with corpus.opened(CORPUS, archive) as (path, label):
        run = read(path)
        ranked = rank(Inputs(run), check(run))
        proposed = propose(run, ranked, settings_of(label))[0].design.id
        beliefs = {c.id: c.probability for c in ranked}
        return Case(archive, beliefs, cautious_probabilities(ranked), proposed)


def in_doubt(seeds: Container[int], processes: int) -> list[Case]:
    """The cases of these seeds, a first one of each fault before any second, so that every part of the list is a fair sample."""
    wanted = [archive for archive, label in faults().items() if label.seed in seeds]
    doubtful: dict[str, list[Case]] = defaultdict(list)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for i, case in enumerate(pool.imap(case_of, wanted), 1):
            if case.in_doubt:
                doubtful[case.label.variant].append(case)
            if i % 50 == 0:
                print(f"{i}/{len(wanted)} diagnosed", file=sys.stderr, flush=True)
    return [case for layer in zip_longest(*doubtful.values()) for case in layer if case is not None]


# --- what the answers are ------------------------------------------------------------------------------------------------


def learn(rows: Rows, processes: int, most: int) -> None:
    """Run `invariants` on one run of every setting of every fault and on healthy ones, and the other experiments that are
    proposed for doubtful cases, each once for every fault and base; write the counts of all answers.
    """
    design = {archive: label for archive, label in labels().items() if label.seed in DESIGN}
    invariants = catalogue()["invariants"]
    one_of_each = {
        (of.variant, of.base, of.severity): archive
        for archive, of in sorted(design.items(), reverse=True)  # the first seed stays
        if archive in faults() or of.variant == HEALTHY
    }
    proposed = {
        (case.label.variant, case.label.base, case.experiment): case for case in reversed(in_doubt(DESIGN, processes))
    }
    wanted = [(invariants, archive) for archive in one_of_each.values()]
    wanted += [(case.design, case.archive) for case in proposed.values() if case.experiment != invariants.id]
    rows.run(wanted[: most or None], processes)
    MEASURED.write_text(written(counted(rows.rows.values(), design)))
    catalogue.cache_clear()  # from here on with these counts
    print(f"{MEASURED}: {len(rows.rows)} runs")


def counted(rows: Iterable[Row], design: Mapping[str, Label]) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Experiment -> question -> cause -> [answers that are yes, answers], over the runs that are there for design."""
    counts: dict[str, dict[str, dict[str, list[int]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(lambda: [0, 0]))
    )
    for row in rows:
        if row.archive in design:
            for asks, yes in row.answers.items():
                if yes is not None:
                    cell = counts[row.experiment][asks][design[row.archive].cause or "healthy"]
                    cell[0] += yes
                    cell[1] += 1
    return counts


def written(counts: Mapping[str, Mapping[str, Mapping[str, list[int]]]]) -> str:
    """As JSON, a line for each question."""
    blocks = (
        f' "{name}": {{\n'
        + ",\n".join(f"  {json.dumps(asks)}: {json.dumps(cells, sort_keys=True)}" for asks, cells in sorted(of.items()))
        + "\n }"
        for name, of in sorted(counts.items())
    )
    return "{\n" + ",\n".join(blocks) + "\n}\n"


# --- diagnoses in doubt ----------------------------------------------------------------------------------------------------


def ambiguous(rows: Rows, processes: int, most: int) -> dict[str, Any]:
    """Top-1 before and after the single proposed experiment, and its cost."""
    cases = in_doubt(JUDGED, processes)
    tried = cases[: most or None]
    rows.run([(case.design, case.archive) for case in tried], processes)
    done = [(case, row) for case in tried if (row := rows.get(case.design, case.archive)) is not None]
    after = [case.after(row) == case.label.cause for case, row in done]
    before = [case.first == case.label.cause for case, _ in done]
    low, high = wilson(sum(after), len(after))
    return {
        "in_doubt": len(cases),
        "decided": len(done),
        "cause_top1_before": _mean(before),
        "cause_top1_after": _mean(after),
        "cause_top1_after_interval": [round(low, 4), round(high, 4)],
        "median_cost_fraction": statistics.median(row.share for _, row in done),
        "median_cpu_fraction": statistics.median(row.cpu_share for _, row in done),
        "cases": [
            {
                "archive": case.archive,
                "cause": case.label.cause,
                "before": case.first,
                "probability": round(case.beliefs[case.first], 3),
                "experiment": case.experiment,
                "yes": [asks for asks, yes in row.answers.items() if yes],
                "after": case.after(row),
                "share": row.share,
                "cpu_share": row.cpu_share,
            }
            for case, row in done
        ],
    }


# --- the catalogue ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A question with a fault under which its answer should be one thing, and a run where it should be the other."""

    design: Design
    question: Question
    here: str  #: archive
    there: str

    def found(self, rows: Rows) -> dict[str, Any] | None:
        """What the lab says; None where it was not run."""
        here, there = (rows.get(self.design, archive) for archive in (self.here, self.there))
        if here is None or there is None:
            return None
        asks = self.question.asks
        cause, rival = (labels()[archive].cause or "healthy" for archive in (self.here, self.there))
        expected = _declared(self.question, cause) > _declared(self.question, rival)
        return {
            "experiment": self.design.id,
            "asks": asks,
            "cause": cause,
            "run": self.here,
            "answer": here.answers[asks],
            "reason": here.reasons[asks],
            "rival": rival,
            "rival_run": self.there,
            "rival_answer": there.answers[asks],
            "rival_reason": there.reasons[asks],
            "separates": here.answers[asks] is expected and there.answers[asks] is (not expected),
        }


def proofs(rows: Rows, processes: int, most: int) -> dict[str, Any]:
    """Every question of every experiment on a pair of runs, and the experiments of which the lab has no pair.

    If the first pair is not separated, other faults with a cause of the question are tried, up to TRIES.
    """
    found = {
        design.id: [pairs_of(design, question) for question in design.questions] for design in catalogue().values()
    }
    missing = {name: of[0].why for name, of in found.items() if not any(pairs.pairs for pairs in of)}
    asked = [pairs for layer in zip_longest(*found.values()) for pairs in layer if pairs is not None]
    for turn in range(TRIES):
        waiting = [of.pairs[turn] for of in asked if len(of.pairs) > turn and not of.apart(rows)]
        rows.run([(p.design, a) for p in waiting[: most or None] for a in (p.here, p.there)], processes)
    shown = [proof for of in asked for pair in of.pairs if (proof := pair.found(rows)) is not None]
    proven = {proof["experiment"] for proof in shown if proof["separates"]}
    return {
        "experiments": len(catalogue()),
        "proven": len(proven),
        "not_proven": sorted({proof["experiment"] for proof in shown} - proven),
        "not_in_the_lab": missing,
        "proofs": shown,
    }


@dataclass(frozen=True)
class Pairs:
    """The pairs that a question may be tried on, or why there is none."""

    pairs: tuple[Pair, ...]
    why: str

    def apart(self, rows: Rows) -> bool:
        """Whether one of the pairs has been separated."""
        return any(proof["separates"] for pair in self.pairs if (proof := pair.found(rows)) is not None)


def pairs_of(design: Design, question: Question) -> Pairs:
    """Runs with the causes that the question is mainly about, one of each fault of the lab, short ones first, each with a
    healthy run or a run with another cause.
    """
    why = "no fault of the lab should be answered otherwise than a healthy run"
    distances = {a: _apart(question, label, "healthy") for a, label in faults().items() if label.seed == 0}
    pairs: dict[str, Pair] = {}
    for here in sorted(distances, key=lambda archive: (-distances[archive], labels()[archive].cpu_seconds)):
        if distances[here] < CLEAR or len(pairs) == TRIES:
            break
        if labels()[here].variant in pairs:
            continue
        if why := cannot(design, question, here):
            continue
        if (rival := rival_of(design, question, labels()[here])) is not None:
            pairs[labels()[here].variant] = Pair(design, question, here, rival)
        else:
            why = f"no other run of {labels()[here].base} should be answered otherwise"
    return Pairs(tuple(pairs.values()), why)


def rival_of(design: Design, question: Question, label: Label) -> str | None:
    """A run of the same base under which the other answer is expected: healthy, else with another fault.

    Where the question is whether a break comes again, that healthy run is one whose diagnosis named a break by chance.
    """
    others = {a: o for a, o in labels().items() if o.base == label.base and o.seed in DESIGN}
    far = {a: o for a, o in others.items() if _apart(question, label, o.cause or "healthy") >= CLEAR}
    healthy = sorted((a for a in far if far[a].cause is None), key=lambda a: (far[a].variant != HEALTHY, far[a].seed))
    faulty = (a for a in far if a in faults() and far[a].seed == 0)
    return next((archive for archive in (*healthy, *faulty) if not cannot(design, question, archive)), None)


def _apart(question: Question, label: Label, rival: str) -> float:
    """How far the declared probabilities of "yes" lie apart: under the run's cause and under a rival."""
    return abs(_declared(question, str(label.cause)) - _declared(question, rival))


def _declared(question: Question, candidate: str) -> float:
    """P(yes) as claimed, without what the lab has said of it."""
    return question.yes.get(candidate, question.otherwise)


@cache
def _original(archive: str) -> Run:
    with corpus.opened(CORPUS, archive) as (path, _):
        run = read(path)
        return run


@cache
def _breaks_soon(archive: str) -> bool:
    """Whether its diagnosis names a break that a short arm would show as well."""
    with corpus.opened(CORPUS, archive) as (path, _):
        found = diagnose(read(path)).first_break
    return found is not None and found.link not in TAKES_LONGER


def cannot(design: Design, question: Question, archive: str) -> str:
    """Why this run cannot show what the question is about, or nothing."""
    run, label = _original(archive), labels()[archive]
    if not design.families.include(Inputs(run).family):
        return f"not for {label.base}"
    if question.answer is breaks_again and not _breaks_soon(archive):
        return "it shows no break that a short arm could repeat"
    return obstacle(design, question, run, label)


def _mean(hits: Iterable[bool]) -> float:
    return round(statistics.mean(map(float, hits)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"learn, {', '.join(PARTS)}; all but learn if left out"
    )
    parser.add_argument("--most", type=int, default=sized(0, 1), help="cases or pairs; 0 for all")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kills", type=int, default=sized(100, 1))
    parser.add_argument("--fleet", type=int, default=max(endurance.FLEET), help="largest survey")
    parser.add_argument("--rows", type=Path, default=place(ROWS))
    parser.add_argument("--output", type=Path, default=place(RESULT))
    arguments = parser.parse_args()
    parts = arguments.parts or PARTS  # argparse's `choices` would refuse that none is given
    if unknown := set(parts) - {"learn", *PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    rows = Rows(arguments.rows, CORPUS)
    measure = {
        "ambiguous": lambda: ambiguous(rows, arguments.processes, arguments.most),
        "catalogue": lambda: proofs(rows, arguments.processes, arguments.most),
        "kills": lambda: endurance.kills(arguments.kills),
        "fleet": lambda: endurance.fleet(arguments.fleet),
    }
    result = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    result.pop("note", None)  # it spoke of figures that are replaced now
    for part in PARTS:
        if part == "ambiguous" and "learn" in parts:  # from all that has been run by then
            learn(rows, arguments.processes, arguments.most)
        if part in parts:
            result |= measure[part]()
            result |= environment(shlex.join(["python", "-m", "benchmarks.experiments"]))
            arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{arguments.output}: {', '.join(f'{key} {result.get(key)}' for key in KEYS)}")


if __name__ == "__main__":
    main()
