"""What firstbreak says of published runs, beside what an experienced reader says of them: `make report-card`.

Needs the folder of published runs beside the project. Writes docs/report-card.md and benchmarks/results/report_card.json.
"""

import csv
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from benchmarks.machine import environment
from benchmarks.size import place, sized
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Diagnosis
from firstbreak.readers import Unreadable
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
PAGE = ROOT / "docs" / "report-card.md"
RESULT = ROOT / "benchmarks" / "results" / "report_card.json"
FIRM = frozenset({Action.STOP, Action.ROLLBACK})

#: where the two readings differ, and why firstbreak keeps its own
ARGUMENTS: dict[str, str] = {
    "c07-two-generations": "the excerpt holds probabilities of a calculation, not what a trainer logs; without a score or a "
    "share of silent groups, firstbreak says that nothing was recorded that could be judged.",
    "c08-phantom-advantage": "five values of four different experiments at two steps stand under one name; firstbreak "
    "cannot tell the arms apart, and five points are no curve. With the arms in files of their own it can.",
    "c22-critic-return-scale": "two values of the critic loss (4 and 7) are no trend, and no score was recorded; firstbreak "
    "says so.",
    "zoo-ddpg-hopperbullet-v0": "the evaluation was best at step 120000 (1772), and 1509 and 1523 were reached again at 420000 "
    "and 950000, with a spread of hundreds between episodes: the diagnosis says to watch, and names no link.",
    "c34-dpo-packing": "two expected values and two observed ones, without a score: nothing is measured, and firstbreak says "
    "what to log. A link was named before only because a missing score counted as a cause.",
}


@dataclass(frozen=True)
class Row:
    """One run: the reader's view, ours, and whether they agree."""

    id: str
    kind: str  #: "run" or "case"
    trainer: str
    algorithm: str
    reader: str  #: healthy, wrong, plateau, unclear
    reader_link: str
    confidence: str
    action: str
    link: str
    or_earlier: bool
    cause: str
    probability: float
    healthy: float
    seconds: float
    agrees: bool


def rows(shared: Path = SHARED) -> Iterator[Row]:
    """Every published run and case, in the order of their indexes."""
    for entry in csv.DictReader((shared / "runs" / "index.csv").open()):
        verdict = entry["verdict"].partition(" ")[0]
        yield row(shared / "runs" / entry["id"], entry["id"], "run", verdict, entry["link"], entry["confidence"])
    for entry in csv.DictReader((shared / "cases" / "index.csv").open()):
        verdict = "healthy" if entry["fix"] == "nothing to fix" else "wrong"
        path = shared / "cases" / f"{entry['id']}.csv"
        yield row(path, entry["id"], "case", verdict, entry["link"], entry["confidence"])


def row(path: Path, name: str, kind: str, verdict: str, link: str, confidence: str) -> Row:
    """Diagnose one run and compare."""
    start = time.perf_counter()
    try:
        dx = diagnose(read(find_runs(path)[0]))
    except Unreadable:
        return Row(name, kind, "", "", verdict, link, confidence, "unreadable", "", False, "", 0.0, 0.0, 0.0, False)
    seconds = time.perf_counter() - start
    causes = [c for c in dx.causes if c.link is not None]
    first = dx.first_break
    named = next((c for c in causes if first and c.link is first.link), causes[0] if causes else None)
    return Row(
        id=name,
        kind=kind,
        trainer=dx.run.trainer or "",
        algorithm=dx.run.algorithm or "",
        reader=verdict,
        reader_link=link,
        confidence=confidence,
        action=dx.verdict.action.value,
        link=first.link.value if first else "",
        or_earlier=bool(first and first.or_earlier),
        cause=named.id if first and named else "",
        probability=round(named.probability, 3) if first and named else 0.0,
        healthy=round(next((c.probability for c in dx.causes if c.id == "healthy"), 0.0), 3),
        seconds=round(seconds, 3),
        agrees=agrees(dx, verdict, link),
    )


def agrees(dx: Diagnosis, verdict: str, link: str) -> bool:
    """Healthy: no firm verdict. Wrong: something is seen, and the link is the reader's or "or earlier" covers it."""
    if verdict == "healthy":
        return dx.verdict.action not in FIRM
    if verdict in ("unclear", "plateau"):
        return dx.verdict.action is not Action.ROLLBACK
    first = dx.first_break
    if first is None or dx.verdict.action is Action.CONTINUE:
        return False
    upstream = {name.value: name.order for name in dx.links}
    return first.link == link or (first.or_earlier and upstream.get(link, 99) < first.link.order)


def summary(table: list[Row]) -> dict[str, float | int]:
    """The figures that the project promises."""
    healthy = [r for r in table if r.reader == "healthy" and r.confidence == "high"]
    wrong = [r for r in table if r.reader == "wrong" and r.confidence == "high"]
    return {
        "runs": sum(r.kind == "run" for r in table),
        "cases": sum(r.kind == "case" for r in table),
        "unreadable": sum(r.action == "unreadable" for r in table),
        "healthy_high": len(healthy),
        "healthy_high_stopped": sum(r.action in ("stop", "rollback") for r in healthy),
        "wrong_high": len(wrong),
        "wrong_high_right_link": sum(r.agrees for r in wrong),
        "slowest_s": max(r.seconds for r in table),
    }


def page(table: list[Row]) -> str:
    """The report card as Markdown."""
    figures = summary(table)
    lines = [
        "# Report card: published runs",
        "",
        "Real runs that others published, read by an experienced practitioner and by firstbreak. Made by `make report-card`.",
        "",
        f"- {figures['runs']} runs and {figures['cases']} excerpts from issue threads; "
        f"{figures['unreadable']} could not be read.",
        f"- Healthy runs that the reader is sure of: {figures['healthy_high']}; of these firstbreak would stop "
        f"{figures['healthy_high_stopped']}.",
        f"- Broken runs that the reader is sure of: {figures['wrong_high']}; firstbreak names the same link, or that link "
        f'"or earlier", in {figures["wrong_high_right_link"]}.',
        f"- The slowest takes {figures['slowest_s']} s from path to diagnosis.",
        "",
        "| run | trainer | reader | firstbreak | cause | agree |",
        "|---|---|---|---|---|---|",
    ]
    for r in table:
        reader = f"{r.reader} ({r.confidence})" + (f": {r.reader_link}" if r.reader_link else "")
        ours = r.action + (f": {r.link}{' or earlier' if r.or_earlier else ''}" if r.link else "")
        cause = f"{r.cause} {r.probability:.0%}" if r.cause else ""
        trainer = " ".join(filter(None, (r.trainer, r.algorithm)))
        lines.append(f"| {r.id} | {trainer} | {reader} | {ours} | {cause} | {'yes' if r.agrees else 'no'} |")
    argued = [r for r in table if r.id in ARGUMENTS]
    if argued:
        lines += ["", "## Where the two readings differ", ""] + [f"- **{r.id}**: {ARGUMENTS[r.id]}" for r in argued]
    return "\n".join(lines) + "\n"


def main() -> None:
    if not (SHARED / "runs" / "index.csv").exists():
        print(f"skipped: the published runs are not beside the project ({SHARED / 'runs'})")
        return
    table = list(islice(rows(), sized(None, 2)))
    place(RESULT).write_text(
        json.dumps(
            {**environment("make report-card"), "summary": summary(table), "rows": [asdict(r) for r in table]}, indent=1
        )
        + "\n"
    )
    place(PAGE).write_text(page(table))
    for r in table:
        mark = "  " if r.agrees else "x "
        print(
            f"{mark}{r.id:34} {r.reader:8} {r.confidence:4} {r.reader_link:14} | "
            f"{r.action:9} {r.link:14} {r.cause} {r.probability}"
        )
    print(json.dumps(summary(table), indent=1))


if __name__ == "__main__":
    main()
