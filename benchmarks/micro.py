"""What is said of the micro-lab's runs, and how far its findings agree with the real trainers': `python -m benchmarks.micro`.

    python -m benchmarks.micro [RUNS] [PROCESSES]      default: 20,000 runs, one process

Makes the runs of the seeds 0 to RUNS - 1, diagnoses a seeded sample of about 2,000, and compares for each fault that the
corpus has as well how often each check speaks here and there. The corpus' runs are shown with the curves that their public
trainer logs by default (benchmarks/abroad), as the micro-lab logs them. What was made is kept in out/micro-*.jsonl, so that
a measurement that was interrupted continues; after a change of the checks only the diagnosed runs are made again. Writes
results/micro.json and the tables of docs/micro-lab.md.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.corpus import labels, opened
from firstbreak_lab.micro import make
from firstbreak_lab.micro.faults import SHARED, faults
from firstbreak_lab.micro.logs import write
from firstbreak_lab.running import Label

from benchmarks.abroad.default_curves import SB3, SB3_DQN, TRL_GRPO
from benchmarks.abroad.stranger import Draw, brought
from benchmarks.abroad.tables import percent, table
from benchmarks.lab import page, rounded
from benchmarks.machine import environment
from benchmarks.size import corpus, place, sized
from firstbreak.engine.check import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Outcome, Severity, Status
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "micro.json"
PAGE = ROOT / "docs" / "micro-lab.md"
KEPT = ROOT / "out"  #: not committed
#: code that decides what is said of a run, and how a run of the micro-lab goes
READING = ("src/firstbreak/diagnosis", "src/firstbreak/dialects", "src/firstbreak/readers")
MAKING = ("lab/src/firstbreak_lab/micro", "lab/src/firstbreak_lab/drawn.py")
RUNS = 20_000
DIAGNOSED = 2_000  #: about so many of the runs are diagnosed
FEWEST = sized(5, 1)  #: runs of each side in which a check has looked, for a line of the agreement
SHOWN = 20  #: of the largest differences

#: the corpus' bases that are shown as the trainer whose names the micro-lab logs
REAL = {
    "trl/grpo-sort": ("grpo", TRL_GRPO),
    "language/grpo-sort": ("grpo", TRL_GRPO),
    "language/grpo-reverse": ("grpo", TRL_GRPO),
    "language/grpo-add": ("grpo", TRL_GRPO),
    "language/grpo-tag": ("grpo", TRL_GRPO),
    "classic/ppo-cartpole": ("ppo", SB3),
    "classic/dqn-cartpole": ("dqn", SB3_DQN),
}

Row = dict[str, Any]  #: as it is kept: `label`, and for a diagnosed run `answer` and `spoke`


# Making and asking ------------------------------------------------------------------------------------------------------


def chosen(share: float, seed: int) -> bool:
    """Whether the run of this seed is among those that are diagnosed."""
    return bool(np.random.default_rng([seed, 23]).random() < share)


def micro_row(diagnosed: bool, seed: int) -> Row:
    """One run of the micro-lab, and on demand what is said of it."""
    log, label = make(seed)
    row: Row = {"id": str(seed), "label": asdict(label)}
    if diagnosed:
        with tempfile.TemporaryDirectory() as folder:
            write(log.rows, label.trainer, Path(folder))
            run = read(folder)
        outcomes = check(run)
        dx = diagnose(run, outcomes)
        row["answer"] = {
            "link": dx.first_break.link.value if dx.first_break else None,
            "stop": dx.verdict.action in (Action.STOP, Action.ROLLBACK),
        }
        row["spoke"] = spoke(outcomes)
    return row


def real_row(folder: Path, archive: str) -> Row:
    """One run of the corpus in its public trainer's default curves, with what the checks say of it."""
    with opened(folder, archive) as (path, label):
        algorithm, trainer = REAL[label.base]
        run = brought(read(path), Draw(trainer=trainer, evaluated=True), label.steps)
    return {"id": archive, "label": {**asdict(label), "algorithm": algorithm}, "spoke": spoke(check(run))}


def spoke(outcomes: Iterable[Outcome]) -> dict[str, bool]:
    """Check -> whether it found more than a notice; checks that could not look are left out."""
    return {
        one.detector: one.finding is not None and one.finding.severity is not Severity.NOTICE
        for one in outcomes
        if one.status in (Status.OK, Status.FOUND)
    }


def real_archives(folder: Path) -> list[str]:
    """The runs of the corpus that the micro-lab has a counterpart of."""

    def wanted(label: Label) -> bool:
        here = label.base in REAL
        shared = label.variant in SHARED and REAL[label.base][0] in faults()[label.variant].where if here else False
        return here and (label.link is None or shared)

    return [archive for archive, label in labels(folder).items() if wanted(label)]


def kept(path: Path, jobs: Sequence[Any], work: Callable[[Any], Row], processes: int, *code: str) -> list[Row]:
    """The rows of the jobs. Those that the file holds from the same code (folders and files) are not made again."""
    made_from = fingerprint(*code)
    known: dict[str, Row] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        first, *others = path.read_text().splitlines() or ["{}"]
        if json.loads(first).get("made from") == made_from:
            known = {row["id"]: row for row in map(json.loads, others)}
    if not known:
        path.write_text(json.dumps({"made from": made_from}) + "\n")
    missing = [job for job in jobs if str(job) not in known]
    with path.open("a") as file, ProcessPoolExecutor(processes) as pool:
        for row in pool.map(work, missing, chunksize=8):
            file.write(json.dumps(row) + "\n")
            file.flush()
            known[row["id"]] = row
    return [known[str(job)] for job in jobs]


def fingerprint(*code: str) -> str:
    """Of all code that decides a row: folders and files, from the root."""
    digest = hashlib.sha256()
    for one in code:
        for path in sorted((ROOT / one).rglob("*")) or [ROOT / one]:
            if path.suffix in (".py", ".json"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


# Figures ----------------------------------------------------------------------------------------------------------------


def figures_of(rows: Sequence[Row], real: Sequence[Row]) -> dict[str, Any]:
    """All figures of micro.json but where they were measured."""
    sick = [row for row in rows if row["label"]["link"]]
    diagnosed = [row for row in rows if "answer" in row]
    algorithms = sorted({row["label"]["algorithm"] for row in rows})
    return {
        "n_runs": len(rows),
        "n_healthy": len(rows) - len(sick),
        "n_harmful": sum(row["label"]["harmful"] for row in sick),
        "n_diagnosed": len(diagnosed),
        "all": scored(diagnosed),
        "algorithms": {name: scored(of(diagnosed, algorithm=name)) for name in algorithms},
        "links": {
            link: scored(of(diagnosed, link=link)) for link in dict.fromkeys(f.link.value for f in faults().values())
        },
        "faults": {
            f"{name} {algorithm}": {
                "link": fault.link.value,
                "made": len(made := of(sick, variant=name, algorithm=algorithm)),
                "harmful": share(row["label"]["harmful"] for row in made),
                **scored(of(diagnosed, variant=name, algorithm=algorithm)),
            }
            for name, fault in faults().items()
            for algorithm in fault.where
        },
        "agreement": {
            "any": agreement(diagnosed, real),
            "harmful": agreement(
                [row for row in diagnosed if row["label"]["harmful"] or not row["label"]["link"]], real
            ),
        },
    }


def of(rows: Iterable[Row], **wanted: str) -> list[Row]:
    """The rows whose label has these values."""
    return [row for row in rows if all(row["label"][key] == value for key, value in wanted.items())]


def scored(rows: Sequence[Row]) -> dict[str, Any]:
    """What is said of runs whose fault did harm, of those whose fault did none, and of healthy ones."""
    groups: dict[str, list[Row]] = {"harmful": [], "harmless": [], "healthy": []}
    for row in rows:
        label = row["label"]
        groups["healthy" if label["link"] is None else "harmful" if label["harmful"] else "harmless"].append(row)
    return {f"{name}_{key}": value for name, group in groups.items() for key, value in said(group).items()}


def said(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares of one group; the links only of broken runs."""
    answers = [(row["label"], row["answer"]) for row in rows]
    counted: dict[str, Any] = {
        "n": len(rows),
        "found": share(answer["link"] is not None for _, answer in answers),
        "stopped": share(answer["stop"] for _, answer in answers),
    }
    if any(label["link"] for label, _ in answers):
        counted["right"] = share(answer["link"] == label["link"] for label, answer in answers)
        counted["accepted"] = share(answer["link"] in label["accepted"] for label, answer in answers)
    return counted


def share(flags: Iterable[bool]) -> float:
    """The share of true ones; NaN of none."""
    every = list(flags)
    return sum(every) / len(every) if every else math.nan


def agreement(micro: Sequence[Row], real: Sequence[Row]) -> dict[str, Any]:
    """P(finding | fault) and P(finding | healthy) here and there, for each check that has looked on both sides."""
    lines = list(cells(counts(micro), counts(real)))
    parts = {
        "faulty": [line for line in lines if line["fault"]],
        "healthy": [line for line in lines if not line["fault"]],
    }
    parts |= {name: [line for line in lines if line["algorithm"] == name] for name in ("grpo", "ppo", "dqn")}
    largest = sorted(lines, key=lambda line: -abs(line["micro"] - line["real"]))[:SHOWN]
    return {"all": compared(lines), **{name: compared(part) for name, part in parts.items()}, "largest": largest}


def counts(rows: Iterable[Row]) -> dict[tuple[str, str, str], list[int]]:
    """(algorithm, fault or "", check) -> in how many runs it spoke, and in how many it looked."""
    counted: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        label = row["label"]
        for name, found in row["spoke"].items():
            cell = counted[label["algorithm"], label["variant"] if label["link"] else "", name]
            cell[0] += found
            cell[1] += 1
    return counted


def cells(
    micro: Mapping[tuple[str, str, str], list[int]], real: Mapping[tuple[str, str, str], list[int]]
) -> Iterator[Row]:
    """The lines of the agreement. Checks that are silent on both sides agree, and are in no line."""
    for key in sorted(micro.keys() & real.keys()):
        (a, n), (b, m) = micro[key], real[key]
        if min(n, m) >= FEWEST and a + b:
            algorithm, fault, name = key
            yield {
                "algorithm": algorithm, "fault": fault, "check": name,
                "micro": a / n, "n_micro": n, "real": b / m, "n_real": m,
            }  # fmt: skip


def compared(lines: Sequence[Row]) -> dict[str, Any]:
    """Correlation and mean absolute difference; `by_chance` is the latter if the true rates were equal."""
    if len(lines) < 3:
        return {"n": len(lines)}
    here, there, n, m = (np.array([line[key] for line in lines]) for key in ("micro", "real", "n_micro", "n_real"))
    pooled = (here * n + there * m) / (n + m)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return {
        "n": len(lines),
        "correlation": float(np.corrcoef(here, there)[0, 1]) if here.std() and there.std() else math.nan,
        "difference": float(np.abs(here - there).mean()),
        "by_chance": float((np.sqrt(2 / math.pi) * spread).mean()),
        "bias": float((here - there).mean()),
    }


# The page ---------------------------------------------------------------------------------------------------------------


def tables(figures: Mapping[str, Any]) -> dict[str, str]:
    """The made parts of docs/micro-lab.md."""
    return {
        "micro": _groups(figures),
        "micro-faults": _faults(figures),
        "micro-agreement": _agreement(figures),
        "micro-differences": _differences(figures),
    }


def _groups(figures: Mapping[str, Any]) -> str:
    named = {"all": figures["all"], **figures["algorithms"], **figures["links"]}
    rows = [
        [name, part["harmful_n"]]
        + [percent(part.get(f"harmful_{key}")) for key in ("found", "right", "accepted", "stopped")]
        + [part["harmless_n"], percent(part["harmless_found"]), percent(part["harmless_stopped"])]
        + [part["healthy_n"], percent(part["healthy_found"]), percent(part["healthy_stopped"])]
        for name, part in named.items()
    ]
    head = ["", "with harm", "called broken", "right link", "accepted link", "stopped", "without harm", "called broken",
            "stopped", "healthy", "called broken", "stopped"]  # fmt: skip
    intro = (
        f"{figures['n_runs']:,} runs, {figures['n_healthy']:,} of them healthy; in {figures['n_harmful']:,} the fault did "
        f"harm. {figures['n_diagnosed']:,} were diagnosed."
    )
    return f"{intro}\n\n{table(head, rows)}"


def _faults(figures: Mapping[str, Any]) -> str:
    rows = [
        [part["link"], *name.split(), part["made"], percent(part["harmful"]), part["harmful_n"]]
        + [percent(part.get(f"harmful_{key}")) for key in ("found", "right", "accepted")]
        for name, part in figures["faults"].items()
    ]
    head = ["link", "fault", "algorithm", "made", "did harm", "diagnosed, with harm", "called broken", "right link",
            "accepted link"]  # fmt: skip
    return table(head, rows)


def _agreement(figures: Mapping[str, Any]) -> str:
    keys = ("correlation", "difference", "by_chance", "bias")
    rows = [
        [kind, name, part["n"], *(_number(part.get(key)) for key in keys)]
        for kind, parts in figures["agreement"].items()
        for name, part in parts.items()
        if name != "largest"
    ]
    head = ["micro-lab's faults", "", "rates", "correlation", "mean difference", "of it by chance", "micro minus real"]
    return table(head, rows)


def _number(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.2f}"


def _differences(figures: Mapping[str, Any]) -> str:
    rows = [
        [line["algorithm"], line["fault"] or "healthy", line["check"]]
        + [f"{percent(line[side])} of {line[f'n_{side}']}" for side in ("micro", "real")]
        for line in figures["agreement"]["any"]["largest"]
    ]
    return table(["algorithm", "fault", "check", "micro-lab", "real trainers"], rows)


def main(arguments: Sequence[str]) -> None:
    runs, processes = (*map(int, arguments), *(RUNS, 1)[len(arguments) :])
    seeds = range(sized(runs, 12))
    folder = corpus()
    asked = [seed for seed in seeds if chosen(DIAGNOSED / len(seeds), seed)]
    others = sorted(set(seeds) - set(asked))
    out, real_work = place(KEPT), partial(real_row, folder)
    real = kept(out / "micro-real.jsonl", real_archives(folder), real_work, processes, *READING, "benchmarks/abroad")
    diagnosed = kept(out / "micro-diagnosed.jsonl", asked, partial(micro_row, True), processes, *READING, *MAKING)
    made = kept(out / "micro-made.jsonl", others, partial(micro_row, False), processes, *MAKING)
    rows = sorted(diagnosed + made, key=lambda row: int(row["id"]))
    figures = rounded({**environment(f"python -m benchmarks.micro {len(seeds)}"), **figures_of(rows, real)})
    place(RESULT).write_text(json.dumps(figures, indent=1) + "\n")
    shown = tables(figures)
    place(PAGE).write_text(page(PAGE.read_text(), shown))
    print(shown["micro"], shown["micro-agreement"], sep="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
