"""What is said of the population, the drawn runs of real trainers: `python -m benchmarks.population [--packs DIR] [--misses]`.

Reads the packs that `firstbreak lab population build` has made, diagnoses every run, and writes results/population.json.
Answers are kept in out/population.jsonl, so that a measurement that was interrupted continues; after a change of the code,
or of a pack, it is made again. A run is found where it is called broken, or where the user is told to stop or to go back.

`--misses` lists every harmful run whose first break is not of an accepted link, with the reason:

abstained        the most probable cause is of an accepted link, and the run was not called broken
weighed wrongly  a check of an accepted link found something, and another link won
quiet            a check of an accepted link could look, and none found anything
blind            no check of an accepted link could look
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from firstbreak_lab import weights
from firstbreak_lab.population.build import packs, unpacked

from benchmarks.answers import Answer, answer, by_cause, first
from benchmarks.lab import percent, rounded, table
from benchmarks.machine import environment
from benchmarks.resume import kept
from benchmarks.size import place, sized
from firstbreak.engine import likelihood
from firstbreak.engine.detection import check
from firstbreak.engine.registry import detectors
from firstbreak.model import Link
from firstbreak.preflight.intervals import wilson
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "population.json"
KEPT = ROOT / "out" / "population.jsonl"  #: not committed
PACKS = ROOT / "population"
#: code that decides what is said of a run
READING = tuple(f"src/firstbreak/{name}" for name in ("engine", "knowledge", "dialects", "readers"))

SETTLED = 0.75  #: share of the way from the first to the best policy
HARMS = (0.0, 0.1, 0.2, 0.4, 0.8, float("inf"))  #: bounds of the rows by harm, in the same share

Run = dict[str, Any]  #: `label`, and `answer` with the links in the order of their most probable cause

#: figure -> (of which runs, what counts)
FIGURES: Mapping[str, tuple[str, Callable[[Run], bool]]] = {
    "found": ("harmful", lambda run: found(run)),
    "right": ("harmful", lambda run: run["answer"]["link"] == run["label"]["link"]),
    "accepted": ("harmful", lambda run: run["answer"]["link"] in run["label"]["accepted"]),
    "forced": ("harmful", lambda run: run["answer"]["forced"] == run["label"]["link"]),
    "forced_accepted": ("harmful", lambda run: run["answer"]["forced"] in run["label"]["accepted"]),
    "harmless_found": ("harmless", lambda run: found(run)),
    "healthy_broken": ("healthy", lambda run: run["answer"]["link"] is not None),
    "healthy_stopped": ("healthy", lambda run: run["answer"]["stop"]),
}


def pack_row(folder: Path, job: str) -> dict[str, Any]:
    """What is said of every run of a pack. The job is its name and its digest."""
    with unpacked(folder / job.partition(" ")[0]) as runs:
        return {
            "id": job,
            "runs": [{"label": asdict(label), "answer": said(path, label.family)} for path, label in runs],
        }


def said(path: Path, family: str) -> dict[str, Any]:
    """What is said of one run, without the counts of its trainer family; of a folder from which nothing can be read, nothing."""
    run = read(path)
    with likelihood.instead(weights.without_family(family)):
        told: Answer = answer(run, check(run))
    return {
        "link": told.link,
        "stop": told.stop,
        "forced": first(by_cause(told)),
        "cause": told.cause,
        "spoke": list(told.spoke),
        "blind": list(told.blind),
    }


def jobs(folder: Path) -> list[str]:
    """Name and digest of each pack: a pack that has grown is asked again."""
    chosen = packs(folder)[: sized(None, 1)]
    return [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}" for path in chosen]


def found(run: Run) -> bool:
    """Whether the user is told that something is wrong."""
    return run["answer"]["link"] is not None or run["answer"]["stop"]


def figures_of(runs: Sequence[Run]) -> dict[str, Any]:
    """All figures of population.json but where they were measured: of all runs, by family and by link."""
    families = sorted({run["label"]["family"] for run in runs})
    healthy = [run for run in runs if run["label"]["link"] is None]
    return {
        "all": scored(runs),
        # A run that has not settled is changed by anything, so that harm without a reason is frequent among the others.
        "settled": scored([run for run in runs if settled(run)]),
        "harms": {
            f"harm from {percent(low)}": scored(
                [run for run in runs if kind(run) == "harmful" and low <= harm(run) < high]
            )
            for low, high in pairwise(HARMS)
        },
        "families": {name: scored(of(runs, family=name)) for name in families},
        # The healthy runs of the population belong to every link and to none: they are counted in `all`.
        "links": {link.value: scored(of(runs, link=link.value)) for link in Link},
        "misses": misses(runs),
        "cpu_seconds": {
            name: mean(run["label"]["cpu_seconds"] for run in of(healthy, family=name)) for name in families
        },
    }


def of(runs: Iterable[Run], **wanted: str) -> list[Run]:
    """The runs whose label has these values."""
    return [run for run in runs if all(run["label"][key] == value for key, value in wanted.items())]


def scored(runs: Sequence[Run]) -> dict[str, Any]:
    """The number of runs of each kind, and each figure as share, with its 95 % interval (Wilson)."""
    groups: dict[str, list[Run]] = {"harmful": [], "harmless": [], "healthy": []}
    for run in runs:
        groups[kind(run)].append(run)
    scores: dict[str, Any] = {f"n_{name}": len(group) for name, group in groups.items()}
    for name, (group, counts) in FIGURES.items():
        hits, n = sum(map(counts, groups[group])), len(groups[group])
        scores[name] = {"share": hits / n, "interval": wilson(hits, n)} if n else None
    return scores


def kind(run: Run) -> str:
    """Whether the run has a fault, and whether it did harm."""
    label = run["label"]
    return "healthy" if label["link"] is None else "harmful" if label["harmful"] else "harmless"


def miss(run: Run) -> str | None:
    """Why the first break of a harmful run is not of an accepted link; None where it is, or where the run is not harmful."""
    answer, accepted = run["answer"], run["label"]["accepted"]
    if kind(run) != "harmful" or answer["link"] in accepted:
        return None
    if answer["link"] is None and answer["forced"] in accepted:
        return "abstained"
    if any(detectors()[name].link.value in accepted for name in answer["spoke"]):
        return "weighed wrongly"
    return "blind" if set(accepted) <= set(answer["blind"]) else "quiet"


def misses(runs: Sequence[Run]) -> dict[str, dict[str, int]]:
    """Link of the fault -> reason -> number of misses."""
    counted: dict[str, Counter[str]] = {link.value: Counter() for link in Link}
    for run in runs:
        if (why := miss(run)) is not None:
            counted[run["label"]["link"]][why] += 1
    return {link: dict(sorted(reasons.items())) for link, reasons in counted.items() if reasons}


def listed(runs: Sequence[Run]) -> str:
    """Every miss, one line each: reason, fault, family, seed, what was said instead, what spoke."""
    rows = [
        (
            why,
            label["variant"],
            label["family"],
            f"seed {label['seed']}",
            said_["link"] or f"[{said_['forced']}]",
            *spoke,
        )
        for run in runs
        if (why := miss(run)) is not None
        for label, said_, spoke in [(run["label"], run["answer"], [", ".join(run["answer"]["spoke"]) or "nothing"])]
    ]
    return "\n".join("\t".join(row) for row in sorted(rows))


def settled(run: Run) -> bool:
    """Whether the healthy twin has come to most of what can be reached."""
    label = run["label"]
    return bool(label["twin"] - label["start"] >= SETTLED * (label["best"] - label["start"]))


def harm(run: Run) -> float:
    """What the fault cost of the true score, as a share of the way from the first to the best policy."""
    label = run["label"]
    return float((label["twin"] - label["score"]) / (label["best"] - label["start"]))


def mean(numbers: Iterable[float]) -> float | None:
    """None of nothing."""
    every = list(numbers)
    return sum(every) / len(every) if every else None


def shown(figures: Mapping[str, Any]) -> str:
    """The figures as a table."""
    parts = (
        {name: figures[name] for name in ("all", "settled")} | figures["harms"] | figures["families"] | figures["links"]
    )
    rows = [
        [
            name,
            *(part[f"n_{group}"] for group in ("harmful", "harmless", "healthy")),
            *(_cell(part[one]) for one in FIGURES),
        ]
        for name, part in parts.items()
    ]
    head = ["", "with harm", "without harm", "healthy", "found", "right link", "accepted link", "forced choice",
            "forced, accepted", "without harm: found", "healthy: called broken", "healthy: stopped"]  # fmt: skip
    return table(head, rows)


def _cell(score: Mapping[str, Any] | None) -> str:
    if score is None:
        return "-"
    low, high = score["interval"]
    return f"{percent(score['share'])} [{percent(low)}, {percent(high)}]"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packs", type=Path, default=PACKS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="list every miss with its reason")
    options = parser.parse_args()
    work = partial(pack_row, options.packs)
    rows = kept(place(KEPT), jobs(options.packs), work, options.processes, *READING, "benchmarks/answers.py")
    runs = [run for row in rows for run in row["runs"]]
    figures = rounded({**environment("python -m benchmarks.population"), **figures_of(runs)})
    place(RESULT).write_text(json.dumps(figures, indent=1) + "\n")
    print(listed(runs) if options.misses else shown(figures))


if __name__ == "__main__":
    main()
