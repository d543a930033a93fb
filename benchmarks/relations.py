"""Which relations between the numbers of a run can be checked, and hold: `make bench-relations`.

    python -m benchmarks.relations [--share S]          # the lab's corpus and the population
    python -m benchmarks.relations --fresh SET ...      # fresh sets: folders with projects/, key.csv and reader.csv

Writes results/relations.json and leaves the other figures there. A fresh set is a folder of small projects that nobody
tuned to, with a key (`project, broken, fault, source, link, also_accepted`) and what a reader of the logs alone named
(`project, broken, link, second`). Only the first asking of a set counts: what it was is kept in the file.
"""

import argparse
import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from firstbreak_lab.corpus import labels, opened
from firstbreak_lab.population.build import packs, unpacked

from benchmarks.machine import environment
from benchmarks.population import PACKS, READING
from benchmarks.resume import kept
from benchmarks.size import corpus, place, sized
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.registry import detectors
from firstbreak.model import Action, Diagnosis, Role, Severity
from firstbreak.readers.read import read
from firstbreak.reports.content import relations

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "relations.json"
KEPT = ROOT / "out" / "relations.jsonl"  #: not committed
Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the corpus and of the population")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--fresh", type=Path, nargs="+", help="fresh sets, instead of the corpus and the population")
    asked = parser.parse_args(arguments)
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if asked.fresh:
        for folder in asked.fresh:
            rows, figures = fresh(folder)
            print(*map(line, rows), figures, sep="\n")
            result.setdefault("fresh", {}).setdefault(folder.name, figures)
    else:
        result |= {**environment("python -m benchmarks.relations"), **held(asked.share, asked.processes)}
        print(json.dumps({name: figures for name, figures in result.items() if name != "fresh"}, indent=1))
    place(RESULT).write_text(json.dumps(result, indent=1) + "\n")


def held(share: float, processes: int) -> Row:
    """Each relation: in how many runs it can be checked, and in how many healthy and faulty ones it is broken."""
    jobs = [f"corpus {name}" for name in labels(corpus())] + [
        f"population {path.name}" for path in packs(PACKS)[: sized(None, 1)]
    ]
    jobs = jobs[:: max(1, round(1 / share))]
    rows = kept(place(KEPT), jobs, one, processes, *READING)
    runs = [run for row in rows for run in row["runs"]]
    of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        kind = "healthy" if run["healthy"] else "faulty"
        for name in run["hold"] + run["broken"]:
            of[name][f"checkable_{kind}"] += 1
        for name in run["broken"]:
            of[name][f"broken_{kind}"] += 1
    healthy = [run for run in runs if run["healthy"]]
    return {
        "n_healthy": len(healthy),
        "n_faulty": len(runs) - len(healthy),
        "healthy_with_a_broken_one": sum(bool(run["broken"]) for run in healthy),
        "faulty_with_a_broken_one": sum(bool(run["broken"]) for run in runs if not run["healthy"]),
        "relations": {name: dict(sorted(of[name].items())) for name in sorted(_relations())},
        "broken_in": {run["id"]: run["broken"] for run in healthy if run["broken"]},
    }


def one(job: str) -> Row:
    """The runs of one archive of the corpus, or of one pack of the population."""
    kind, _, name = job.partition(" ")
    if kind == "corpus":
        with opened(corpus(), name) as (path, label):
            return {"id": job, "runs": [_checked(job, path, label.link is None)]}
    with unpacked(PACKS / name) as runs:
        return {"id": job, "runs": [_checked(f"{job} {i}", path, of.link is None) for i, (path, of) in enumerate(runs)]}


def _checked(id_: str, path: Path, healthy: bool) -> Row:
    hold, broken = relations(check(read(path), only=_relations()))
    return {"id": id_, "healthy": healthy, "hold": hold, "broken": broken}


def _relations() -> list[str]:
    return [name for name, detector in detectors().items() if Role.RELATION in detector.roles]


def fresh(folder: Path) -> tuple[list[Row], Row]:
    """What is said of each project of a set, and the figures."""
    with (folder / "key.csv").open() as file:
        rows = [_asked(folder, key) for key in csv.DictReader(file)]
    broken = [row for row in rows if row["accepted"]]
    sound = [row for row in rows if not row["accepted"]]
    figures = {
        "n_broken": len(broken),
        "n_healthy": len(sound),
        "link_accepted": sum(row["first"] in row["accepted"] for row in broken),
        "link_two": sum(not row["accepted"].isdisjoint((row["first"], row["also"])) for row in broken),
        "noticed": sum(not row["accepted"].isdisjoint(row["noticed"]) for row in broken),
        "accused": sum(row["first"] is not None for row in sound),
        "stopped": sum(row["stopped"] for row in sound),
    }
    if (folder / "reader.csv").exists():
        with (folder / "reader.csv").open() as file:
            named = {row["project"]: row["link"].strip() for row in csv.DictReader(file)}
        figures["reader_link_accepted"] = sum(named.get(row["project"]) in row["accepted"] for row in broken)
        figures["reader_accused"] = sum(bool(named.get(row["project"])) for row in sound)
    return rows, figures


def _asked(folder: Path, key: dict[str, str]) -> Row:
    links = {key["link"].strip(), *(name.strip() for name in (key["also_accepted"] or "").split(";"))} - {""}
    if "data" in links:  # prompts and data are the environment of a language model
        links.add("environment")
    dx = diagnose(read(folder / "projects" / key["project"]))
    break_ = dx.first_break
    return {
        "project": key["project"],
        "accepted": links if key["broken"].lower().startswith("y") else set(),
        "first": break_.link.value if break_ else None,
        "also": break_.also.value if break_ and break_.also else None,
        "noticed": {outcome.link.value for outcome in _serious(dx)},
        "stopped": dx.verdict.action in (Action.STOP, Action.ROLLBACK),
        "said": dx.verdict.summary,
    }


def _serious(dx: Diagnosis) -> Iterable[Any]:
    return (o for o in dx.findings if o.finding is not None and o.finding.severity is not Severity.NOTICE)


def line(row: Row) -> str:
    """'p01  freshness  rollout or systems  (accepted: freshness)'."""
    wanted = ", ".join(sorted(row["accepted"])) or "sound"
    return f"{row['project']}  {row['first']} {row['also']}  ({wanted})  noticed: {', '.join(sorted(row['noticed']))}"


if __name__ == "__main__":
    main()
