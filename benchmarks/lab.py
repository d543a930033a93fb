"""How well firstbreak, two other tools and plain thresholds diagnose the lab's runs with known causes: `make bench`.

Reads the committed corpus; writes benchmarks/results/lab.json and the tables of docs/lab.md. Nothing is trained.
"""

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from firstbreak_lab.bench import BenchRow, ask, headline, leave_one_out, report
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.cli import ROWS, cell
from firstbreak_lab.corpus import Job, held_out, labels, split
from firstbreak_lab.diagnosers import Diagnoser, DiagnoserAnswer, diagnosers
from firstbreak_lab.harm_test import admissions, control
from firstbreak_lab.running import Label

from benchmarks.machine import environment
from benchmarks.size import corpus, place
from firstbreak.model import Run

ROOT = Path(__file__).resolve().parent.parent
CORPUS = corpus()
RESULT = ROOT / "benchmarks" / "results" / "lab.json"
RECORDER = ROOT / "benchmarks" / "results" / "recorder.json"
PAGE = ROOT / "docs" / "lab.md"
OURS = "firstbreak"
DIGITS = 4


def measure(corpus: Path = CORPUS, processes: int | None = None) -> dict[str, Any]:
    """All figures of lab.json: every diagnoser on the test split, and firstbreak alone on the rest of the corpus."""
    everyone = list(diagnosers().values())
    processes = processes or os.cpu_count() or 1
    tested = collect(corpus, everyone, lambda label: split(label) == "test", live=True, processes=processes)
    ours = diagnosers()[OURS]
    trained = collect(corpus, [ours], lambda label: split(label) == "train", live=False, processes=processes)[OURS]
    found = list(labels(corpus).values())
    return {
        **environment("make bench", ("firstbreak", "numpy", "rldoctor", "rlwatch")),
        **report(corpus, tested, {diagnoser.name: diagnoser.gives for diagnoser in everyone}),
        "held_out": {
            respect: headline([row for row in tested[OURS] if respect in held_out(row.label)], ours.gives)
            for respect in ("seed", "severity", "task")
        },
        "train": headline(trained, ours.gives),
        "sources": {
            name: {
                "with": headline([row for row in tested[OURS] if trainer(row.label) in trainers], ours.gives),
                "without": headline(blind(corpus, trainers, strip, processes), ours.gives),
            }
            for name, (trainers, strip) in SOURCES.items()
        },
        "answers": {archive(row.label): said(row) for row in (*tested[OURS], *trained)},
        "leave_one_task_out": leave_one_out(corpus, lambda label: label.base, processes=processes),
        "leave_one_trainer_out": leave_one_out(corpus, trainer, processes=processes),
        "harm_test": {"control": control(found), "settings": [asdict(verdict) for verdict in admissions(found)]},
    }


def trainer(label: Label) -> str:
    """The lab's trainer of a run: the first part of the base's name."""
    return label.base.partition("/")[0]


def collect(
    corpus: Path, everyone: Sequence[Diagnoser], wanted: Callable[[Label], bool], *, live: bool, processes: int
) -> dict[str, list[BenchRow]]:
    """The answers of each diagnoser."""
    rows: dict[str, list[BenchRow]] = {diagnoser.name: [] for diagnoser in everyone}
    for said in ask(corpus, everyone, wanted=wanted, live=live, processes=processes):
        for name, row in said.items():
            rows[name].append(row)
    return rows


def without_recorder(run: Run) -> Run:
    """A run as its trainer logs it without `guard.adapters.sb3_loop.recorder`."""
    own = {name: s for name, s in run.series.items() if not (s.raw.startswith("loop/") or name.startswith("env."))}
    return replace(run, series=own)


def without_samples(run: Run) -> Run:
    """A run without samples of its completions."""
    return replace(run, samples=None)


#: source of evidence -> the trainers that have it, and how a run looks without it
SOURCES: Mapping[str, tuple[frozenset[str], Callable[[Run], Run]]] = {
    "the recorder's curves": (frozenset({"classic"}), without_recorder),
    "samples": (frozenset({"language", "agent", "preference", "trl"}), without_samples),
}


def blind(corpus: Path, trainers: frozenset[str], strip: Callable[[Run], Run], processes: int) -> list[BenchRow]:
    """firstbreak's answers on the test split of these trainers, without one source of evidence."""
    ours = diagnosers()[OURS]
    stripped = replace(ours, answer=partial(_answered, ours.answer, strip))

    def wanted(label: Label) -> bool:
        return split(label) == "test" and trainer(label) in trainers

    return collect(corpus, [stripped], wanted, live=False, processes=processes)[OURS]


def _answered(answer: Callable[[Run], DiagnoserAnswer], strip: Callable[[Run], Run], run: Run) -> DiagnoserAnswer:
    return answer(strip(run))


def archive(label: Label) -> str:
    """The path of a run in the corpus."""
    return Job(label.variant, label.base, label.severity, label.seed).archive


def said(row: BenchRow) -> str:
    """An answer in one line. A test compares the committed line with the answer of the current code."""
    answer = row.answer
    action = "stop" if answer.stop else "broken" if answer.found else "healthy"
    return " ".join([action, *([answer.link or "-", answer.causes[0]] if answer.found and answer.causes else [])])


# The page ---------------------------------------------------------------------------------------------------------------


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The made parts of docs/lab.md, by the name in their markers."""
    names = list(diagnosers())
    compared = [[heading, *(cell(key, figures[name][key]) for name in names)] for key, heading in ROWS.items()]
    live = [
        ["found at all after the onset", *(_live(figures, name, "found") for name in names)],
        ["median delay, share of the run", *(_live(figures, name, "delay_median") for name in names)],
        ["healthy: ever called broken", *(_live(figures, name, "healthy_ever_found") for name in names)],
        ["healthy: ever advised to stop", *(_live(figures, name, "healthy_ever_stopped") for name in names)],
    ]
    return {
        "corpus": _corpus(figures),
        "compared": table(["", *names], compared),
        "live": table(["replayed live", *names], live),
        "chance": _chance(figures[OURS]),
        "reliability": table(
            ["stated probability", "runs", "mean", "right"],
            [
                [f"{b['from']:.0%} to {b['to']:.0%}", b["n"], f"{b['said']:.0%}", f"{b['right']:.0%}"]
                for b in figures[OURS]["reliability"]
            ],
        ),
        "held-out": _headlines({"not held out": figures["train"], **figures["held_out"]}, "held out by"),
        "sources": _headlines(
            {f"{name}, {how}": part[how] for name, part in figures["sources"].items() for how in ("with", "without")},
            "source of evidence",
        ),
        "recorder": _recorder({"classic": figures["sources"]["the recorder's curves"], **_recorded()}),
        "tasks": _headlines(figures["leave_one_task_out"], "task"),
        "trainers": _headlines(figures["leave_one_trainer_out"], "trainer"),
        "confusion": _confusion(figures[OURS]["confusion"]),
        "faults": _faults(figures),
        "healthy": _healthy(figures, names),
        "harm-test": _harm_test(figures["harm_test"]),
    }


def _corpus(figures: dict[str, Any]) -> str:
    settings = figures["settings"]
    return (
        f"{figures['n_runs_corpus']} runs, {figures[OURS]['n_healthy_corpus']} of them healthy. "
        f"{figures['n_faults']} faults, {figures['n_faults_admitted']} of them admitted with at least one severity. "
        f"{settings['admitted']} settings (a fault in a base with a severity) are admitted, {settings['rejected']} are "
        f"harmless, {settings['unjudged']} have too few seeds for the harm test. "
        f"With the labels of each pair shuffled, the harm test admits {percent(figures['harm_test']['control'])}.\n\n"
        f"Measured by `{figures['command']}` on {figures['date']}: {figures['machine']}, Python {figures['python']}, "
        + ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
        + "."
    )


def _chance(ours: dict[str, Any]) -> str:
    keys = ("link_top1", "cause_top1", "cause_top3")
    return table(
        ["firstbreak", *(ROWS[key] for key in keys)],
        [
            ["true labels", *(percent(ours[key]) for key in keys)],
            ["shuffled labels", *(percent(ours["by_chance"][key]) for key in keys)],
        ],
    )


def _live(figures: dict[str, Any], name: str, key: str) -> str:
    return percent((figures[name]["live"] or {}).get(key))


def _headlines(parts: dict[str, Any], heading: str) -> str:
    keys = ("detection", "link_top1", "cause_top1", "cause_top3", "healthy_found", "healthy_stop")
    rows = [
        [name, part["n_faulty"], *(percent(part[k]) for k in keys[:4]), part["n_healthy"]]
        + [percent(part[k]) for k in keys[4:]]
        for name, part in parts.items()
    ]
    shown = ["faulty", "found", "link", "cause", "cause of 3", "healthy", "called broken", "stopped"]
    return table([heading, *shown], rows)


def _recorded() -> dict[str, Any]:
    """What benchmarks/recorder found, by family."""
    figures = json.loads(RECORDER.read_text())
    found = {}
    for name in ("language", "trl"):
        parts = {name: figures[name], f"{name}, another seed": figures[name]["other_seed"]}
        found |= {title: {"with": part, "without": part["without"]} for title, part in parts.items()}
    return found


def _recorder(families: dict[str, Any]) -> str:
    rows = []
    for name, part in families.items():
        for how in ("with", "without"):
            said = {"healthy_accused": part[how].get("healthy_found"), **part[how]}
            shares = [percent(said[key]) for key in ("link_top1", "cause_top1", "healthy_accused")]
            rows.append([f"{name}, {how}", said["n_faulty"], *shares[:2], said["n_healthy"], shares[2]])
    return table(["family", "faulty", "link", "cause", "healthy", "called broken"], rows)


def _confusion(confusion: dict[str, dict[str, int]]) -> str:
    links = [link for link in _LINKS if link in confusion]
    named = [link for link in (*_LINKS, "nothing") if any(link in row for row in confusion.values())]
    return table(
        ["injected in", *named], [[link, *(confusion[link].get(said, "") for said in named)] for link in links]
    )


_LINKS = list(dict.fromkeys(variant.link.value for variant in catalogue().values() if variant.link))


def _faults(figures: dict[str, Any]) -> str:
    rows = []
    for variant in catalogue().values():
        part = figures[OURS]["faults"].get(variant.id)
        if part:
            weakest = ", ".join(f"{base}: {_severity(value)}" for base, value in part["weakest_found"].items())
            shares = [percent(part[key]) for key in ("detection", "link_top1", "cause_top1", "cause_top3")]
            peers = [percent(figures[name]["faults"][variant.id]["detection"]) for name in diagnosers() if name != OURS]
            rows.append([variant.link.value if variant.link else "", variant.id, part["n"], *shares, weakest, *peers])
    peers = [f"found by {name}" for name in diagnosers() if name != OURS]
    return table(["link", "fault", "runs", "found", "link", "cause", "of 3", "weakest found", *peers], rows)


def _severity(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _healthy(figures: dict[str, Any], names: Sequence[str]) -> str:
    variants = figures[OURS]["healthy"]
    rows = [
        [variant, part["n"]]
        + [
            f"{percent(figures[n]['healthy'][variant]['found'])} / {percent(figures[n]['healthy'][variant]['critical'])}"
            for n in names
        ]
        for variant, part in variants.items()
    ]
    return table(["variant", "runs", *(f"{name}: broken / critical" for name in names)], rows)


def _harm_test(results: dict[str, Any]) -> str:
    rows = []
    for verdict in results["settings"]:
        where = [verdict["variant"], verdict["base"], f"{verdict['severity']:g}", verdict["seeds"]]
        if verdict["seeds"] and verdict["p"] is not None and math.isfinite(verdict["p"]):
            low, high = verdict["interval"]
            size = [verdict["outcome"], f"{verdict['harm']:.3g} [{low:.3g}, {high:.3g}]", _size(verdict["effect"])]
            rows.append([*where, *size, "admitted" if verdict["admitted"] else "harmless"])
        else:
            rows.append([*where, verdict["outcome"], "", "", "not judged"])
    return table(["fault", "base", "severity", "seeds", "outcome", "worse by", "effect", ""], rows)


def _size(effect: float | None) -> str:
    return "large" if effect is None or not math.isfinite(effect) else f"{effect:.1f}"


def percent(share: float | None) -> str:
    """A dash where there is no run."""
    return "-" if share is None or not math.isfinite(share) else f"{share:.0%}"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table of one line each."""
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows])


def page(text: str, made: dict[str, str]) -> str:
    """The page with new text between its markers. Raises KeyError if there is no text for a marker."""

    def put(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{made[match[2]]}\n\n{match[3]}"

    return re.sub(r"(<!-- made:([\w-]+) -->).*?(<!-- /made -->)", put, text, flags=re.DOTALL)


def rounded(value: Any) -> Any:
    """Numbers with DIGITS significant digits. NaN and infinity become null."""
    match value:
        case dict():
            return {key: rounded(item) for key, item in value.items()}
        case list() | tuple():
            return [rounded(item) for item in value]
        case float():
            return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
        case _:
            return value


def main() -> None:
    figures = rounded(measure())
    place(RESULT).write_text(json.dumps(figures, indent=1) + "\n")
    made = tables(figures)
    place(PAGE).write_text(page(PAGE.read_text(), made))
    print(made["compared"])


if __name__ == "__main__":
    main()
