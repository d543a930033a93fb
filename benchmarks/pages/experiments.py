"""What the smallest experiment decides and costs, what the lab shows of each, kills, and the survey of a fleet."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.pages.markdown import mark, percent, table
from benchmarks.pages.results import measured, result
from firstbreak.experiments.catalogue import Design, catalogue


def page() -> str:
    """docs/experiment-figures.md"""
    figures = result("experiments")
    low, high = figures["cause_top1_after_interval"]
    cases = figures["cases"]
    run = {p["experiment"] for p in figures["proofs"]}
    by_design = [[f"`{name}`", *_decided(of)] for name in _names(cases) if (of := _of(cases, name))]
    wrong = [
        [c["archive"].removesuffix(".tar.xz"), c["cause"], c["before"], c["experiment"], c["after"]]
        for c in cases
        if c["after"] != c["cause"]
    ]
    return "\n".join(
        [
            "# The smallest experiment: figures",
            "",
            measured(figures),
            "",
            "## Does it decide a diagnosis?",
            "",
            "Runs with odd seeds of the [lab's](lab.md) corpus whose fault does measurable harm, and whose first diagnosis",
            "is in doubt: the first cause holds less than 80 %, or is not the planted one. Each gets the one experiment that",
            "`firstbreak experiment plan` puts first, run on the lab's trainer with the same fault; its answers are weighed by",
            "what the runs with even seeds have shown. Today's questions were designed on even seeds alone; "
            "some of the first ones",
            "were written with runs of odd seeds in view, so the share after the experiment may still be a little too good.",
            "",
            f"Of {figures['in_doubt']} such runs {figures['decided']} were decided. The planted cause was first in",
            f"{percent(figures['cause_top1_before'])} before, and in {percent(figures['cause_top1_after'])} after",
            f"(95 % interval {percent(low)} to {percent(high)}).",
            f"Median cost: {percent(figures['median_cost_fraction'])} of the original run's steps,",
            f"{percent(figures['median_cpu_fraction'])} of its processor time (an experiment evaluates",
            "after every update, and starts and ends like a whole run).",
            "",
            table(["experiment", "runs", "right before", "right after", "steps"], by_design),
            "",
            "Those that are still wrong:",
            "",
            table(["run", "planted", "first before", "experiment", "first after"], wrong),
            "",
            "## Does each tell apart what it claims?",
            "",
            "For every question of every experiment a run with the planted cause that it speaks of most clearly, beside a",
            "healthy run, or beside one with another fault where a healthy run should be answered alike.",
            "",
            f"{figures['proven']} of the {len(run)} experiments that were run tell at least",
            f"one such pair apart; for {len(figures['not_in_the_lab'])} the lab has no pair.",
            "",
            table(
                ["experiment", "what is done", "arms", "steps", "in the lab"], [_proven(d, figures) for d in _designs()]
            ),
            "",
            "### Question by question",
            "",
            table(
                ["experiment", "question", "planted", "answer", "beside", "answer", "apart"],
                [
                    [
                        f"`{p['experiment']}`",
                        p["asks"],
                        p["cause"],
                        _said(p["answer"]),
                        p["rival"],
                        _said(p["rival_answer"]),
                        mark(p["separates"]),
                    ]
                    for p in figures["proofs"]
                ],
            ),
            "",
            "## Killed in the middle",
            "",
            f"Runner, supervisor or trainer was killed (`kill -9`) at a random moment, {figures['kills']} times; the trainer had",
            "started workers, one of which had left its process group.",
            f"Processes left after ten seconds: {figures['orphans']}. Results lost or half written: {figures['lost']}.",
            "",
            *(_fleet(figures) if "fleet_seconds" in figures else []),
        ]
    )


def _fleet(figures: dict[str, Any]) -> list[str]:
    surveyed = [
        [f"{int(n):,}", seconds, figures["fleet_cpu_ms_per_run"][n]] for n, seconds in figures["fleet_seconds"].items()
    ]
    return [
        "## A fleet",
        "",
        f"`firstbreak diagnose DIR --recursive` over short runs of 40 steps, from nothing, in {figures['fleet_processes']}",
        "processes. Wall time depends on what else the machine does; processor time does not.",
        "",
        table(["runs", "seconds", "processor ms a run"], surveyed),
    ]


def _proven(design: Design, figures: dict[str, Any]) -> list[Any]:
    told = [p for p in figures["proofs"] if p["experiment"] == design.id]
    apart = next((p for p in told if p["separates"]), None)
    if apart:
        shown = f"{apart['cause']} {_said(apart['answer'])}, {apart['rival']} {_said(apart['rival_answer'])}"
    else:
        shown = "not told apart" if told else f"not shown: {figures['not_in_the_lab'].get(design.id, 'not run')}"
    return [f"`{design.id}`", design.title, len(design.arms), f"{design.length:.0%}", shown]


def _designs() -> list[Design]:
    return list(catalogue().values())


def _names(cases: list[dict[str, Any]]) -> list[str]:
    return sorted({c["experiment"] for c in cases}, key=lambda name: (-len(_of(cases, name)), name))


def _of(cases: list[dict[str, Any]], experiment: str) -> list[dict[str, Any]]:
    return [c for c in cases if c["experiment"] == experiment]


def _decided(cases: list[dict[str, Any]]) -> list[Any]:
    right = [sum(c[when] == c["cause"] for c in cases) for when in ("before", "after")]
    return [len(cases), *right, percent(median(c["share"] for c in cases))]


def _said(yes: bool | None) -> str:
    return "open" if yes is None else "yes" if yes else "no"
