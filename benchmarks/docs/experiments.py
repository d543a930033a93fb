"""What the smallest experiment decides and costs, the lab's results for each experiment, kills, and surveys of many runs."""

from statistics import median
from typing import Any

from benchmarks.docs.markdown import filled, mark, percent, table
from benchmarks.docs.results import measured, result
from firstbreak.engine.catalogue import Design, catalogue


def page() -> str:
    """docs/experiment-figures.md"""
    figures = result("experiments")
    low, high = figures["cause_top1_after_interval"]
    cases = figures["cases"]
    run = {p["experiment"] for p in figures["proofs"]}
    by_design = [[f"`{name}`", *_decided(of)] for name in _names(cases) if (of := _of(cases, name))]
    surveyed = [
        [f"{int(n):,}", seconds, figures["fleet_cpu_ms_per_run"][n]] for n, seconds in figures["fleet_seconds"].items()
    ]
    wrong = [
        [c["archive"].removesuffix(".tar.xz"), c["cause"], c["before"], c["experiment"], c["after"]]
        for c in cases
        if c["after"] != c["cause"]
    ]
    asked = ["experiment", "question", "cause", "answer", "compared with", "answer", "separated"]
    return filled(
        "experiment-figures",
        **{
            name: figures[name]
            for name in ("decided", "in_doubt", "proven", "kills", "orphans", "lost", "fleet_processes")
        },
        measured=measured(figures),
        before=percent(figures["cause_top1_before"]),
        after=percent(figures["cause_top1_after"]),
        low=percent(low),
        high=percent(high),
        cost=percent(figures["median_cost_fraction"]),
        cpu=percent(figures["median_cpu_fraction"]),
        by_design=table(["experiment", "runs", "right before", "right after", "steps"], by_design),
        wrong=table(["run", "true cause", "first before", "experiment", "first after"], wrong),
        n_run=len(run),
        n_missing=len(figures["not_in_the_lab"]),
        designs=table(
            ["experiment", "what is done", "arms", "steps", "in the lab"],
            [_proven(d, figures) for d in _shown(figures)],
        ),
        questions=table(asked, map(_question, figures["proofs"])),
        surveyed=table(["runs", "seconds", "processor ms a run"], surveyed),
    )


def _question(proof: dict[str, Any]) -> list[str]:
    return [
        *(f"`{proof['experiment']}`", proof["asks"], proof["cause"], _said(proof["answer"])),
        *(proof["rival"], _said(proof["rival_answer"]), mark(proof["separates"])),
    ]


def _proven(design: Design, figures: dict[str, Any]) -> list[Any]:
    shown_by = [p for p in figures["proofs"] if p["experiment"] == design.id]
    apart = next((p for p in shown_by if p["separates"]), None)
    if apart:
        shown = f"{apart['cause']} {_said(apart['answer'])}, {apart['rival']} {_said(apart['rival_answer'])}"
    else:
        shown = "not separated" if shown_by else f"not shown: {figures['not_in_the_lab'].get(design.id, 'not run')}"
    return [f"`{design.id}`", design.title, len(design.arms), f"{design.length:.0%}", shown]


def _shown(figures: dict[str, Any]) -> list[Design]:
    """The designs that the benchmark has run, or has named as not in the lab."""
    known = {p["experiment"] for p in figures["proofs"]} | figures["not_in_the_lab"].keys()
    return [design for design in catalogue().values() if design.id in known]


def _names(cases: list[dict[str, Any]]) -> list[str]:
    return sorted({c["experiment"] for c in cases}, key=lambda name: (-len(_of(cases, name)), name))


def _of(cases: list[dict[str, Any]], experiment: str) -> list[dict[str, Any]]:
    return [c for c in cases if c["experiment"] == experiment]


def _decided(cases: list[dict[str, Any]]) -> list[Any]:
    right = [sum(c[when] == c["cause"] for c in cases) for when in ("before", "after")]
    return [len(cases), *right, percent(median(c["share"] for c in cases))]


def _said(yes: bool | None) -> str:
    return "open" if yes is None else "yes" if yes else "no"
