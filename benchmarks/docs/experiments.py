"""What the smallest experiment decides and costs, the lab's results for each experiment, kills, and surveys of many runs."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.docs.markdown import mark, percent, table
from benchmarks.docs.results import measured, result
from firstbreak.engine.catalogue import Design, catalogue


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
            "is in doubt: the first cause has less than 80 %, or is not the true cause. For each run, the experiment that",
            "`firstbreak experiment plan` puts first is run on the lab's trainer with the same fault. The weights of its answers",
            "come from runs with even seeds. Today's questions were designed on even seeds only. Some of the first questions",
            "were written with runs of odd seeds in view, so the share after the experiment may be a little too high.",
            "",
            f"{figures['decided']} of {figures['in_doubt']} runs in doubt were decided. The true cause was first in",
            f"{percent(figures['cause_top1_before'])} before the experiment, and in {percent(figures['cause_top1_after'])} after",
            f"(95 % interval {percent(low)} to {percent(high)}).",
            f"Median cost: {percent(figures['median_cost_fraction'])} of the original run's steps,",
            f"{percent(figures['median_cpu_fraction'])} of its processor time (an experiment evaluates",
            "after every update, and has the start and the end of a full run).",
            "",
            table(["experiment", "runs", "right before", "right after", "steps"], by_design),
            "",
            "Runs with a wrong first cause after the experiment:",
            "",
            table(["run", "true cause", "first before", "experiment", "first after"], wrong),
            "",
            "## Does each experiment separate the causes that it claims to separate?",
            "",
            "Each question of each experiment is asked of two runs. The first run has the cause that the question is about.",
            "The second run is healthy, or has another fault if a healthy run should give the same answer.",
            "",
            f"{figures['proven']} of the {len(run)} experiments that were run separate at least",
            f"one pair of runs. For {len(figures['not_in_the_lab'])} experiments the lab has no pair.",
            "",
            table(
                ["experiment", "what is done", "arms", "steps", "in the lab"],
                [_proven(d, figures) for d in _shown(figures)],
            ),
            "",
            "### Question by question",
            "",
            table(
                ["experiment", "question", "cause", "answer", "compared with", "answer", "separated"],
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
            "## Killed processes",
            "",
            f"Runner, supervisor or trainer was killed (`kill -9`) at a random moment, {figures['kills']} times. The trainer had",
            "started workers, and one worker had left the process group.",
            f"Processes left after ten seconds: {figures['orphans']}. Results lost or incomplete: {figures['lost']}.",
            "",
            *(_fleet(figures) if "fleet_seconds" in figures else []),
        ]
    )


def _fleet(figures: dict[str, Any]) -> list[str]:
    surveyed = [
        [f"{int(n):,}", seconds, figures["fleet_cpu_ms_per_run"][n]] for n, seconds in figures["fleet_seconds"].items()
    ]
    return [
        "## A survey of many runs",
        "",
        "`firstbreak diagnose DIR --recursive` over short runs of 40 steps, without stored rows,",
        f"in {figures['fleet_processes']} processes. Wall-clock time depends on other programs on the",
        "machine. Processor time does not.",
        "",
        table(["runs", "seconds", "processor ms a run"], surveyed),
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
