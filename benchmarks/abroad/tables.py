"""The tables that docs/lab.md shows, by the name in their markers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.abroad.answers import STEPS
from benchmarks.abroad.figures import OF_FAULTS


def tables(figures: Mapping[str, Any]) -> dict[str, str]:
    """The made parts of the page."""
    return {
        "abroad": compared(figures),
        "abroad-seen": seen(figures),
        "abroad-parts": parts(figures),
        "abroad-calibration": calibration(figures),
    }


def compared(figures: Mapping[str, Any]) -> str:
    """Home and abroad side by side, and the steps between them."""
    steps = figures["steps"]
    order = ("home", *STEPS[:-1])
    head = ["", "home", "abroad", *(f"+ {step}" for step in STEPS[1:-1])]
    faults = [[name, *(percent(steps[step][key]) for step in order)] for key, (name, _) in OF_FAULTS.items()]
    healthy = [
        [f"healthy: {name} (upper 95 % bound)"]
        + [f"{percent(steps[step][key])} ({percent(steps[step][key + '_bound'])})" for step in order]
        for key, name in (("healthy_accused", "called broken"), ("healthy_stopped", "advised to stop"))
    ]
    off = [["calibration error of the link", *(percent(steps[step]["calibration_error"]) for step in order)]]
    return table(head, [*faults, *healthy, *off])


def seen(figures: Mapping[str, Any]) -> str:
    """How many faults can be seen, and what is said of the others."""
    apart, steps = figures["invisible"], figures["steps"]["abroad"]
    links = ", ".join(f"{link} {n}" for link, n in sorted(apart["by_link"].items(), key=lambda item: -item[1]))
    power = "; ".join(
        f"on {mark}: " + ", ".join(f"{percent(share)} at {shift} standard deviations" for shift, share in by.items())
        for mark, by in figures["power"].items()
    )
    return (
        f"{figures['n_visible']} of {figures['n_faulty']} faulty test runs can be told from their twins; "
        f"{steps['n_healthy']} test runs are healthy. {apart['n']} leave no mark ({links or 'none'}): "
        f"{percent(apart['accused'])} of them are called broken, {percent(apart['stopped'])} are advised to stop, and for "
        f"{percent(apart['link_said_to_be_blind'])} the report says that the link of the fault was not measured.\n\n"
        f"What the test can see with five seeds, by the size of a mark between seeds {power}."
    )


def parts(figures: Mapping[str, Any]) -> str:
    """The figures abroad by link, by public trainer and by cadence."""
    rows = [
        [f"{kind} {name}", part["n"]]
        + [percent(part[key]) for key in ("found", "forced", "forced_accepted", "abstaining", "two_accepted")]
        for kind, of in (("link:", "links"), ("shown as", "trainers"), ("logged every", "cadences"))
        for name, part in figures[of].items()
    ]
    return table(["", "runs", "found", "forced", "forced, accepted", "first break", "among two, accepted"], rows)


def calibration(figures: Mapping[str, Any]) -> str:
    """The stated probability of the most probable link, and how often it is right."""
    rows = [
        [where, f"{b['from']:.0%} to {b['to']:.0%}", b["n"], percent(b["said"]), _with_interval(b)]
        for where in ("home", "abroad")
        for b in figures["steps"][where]["calibration"]
    ]
    return table(["", "stated probability of the link", "runs", "mean", "right (95 % interval)"], rows)


def _with_interval(one: Mapping[str, Any]) -> str:
    low, high = one["interval"]
    return f"{percent(one['right'])} ({percent(low)} to {percent(high)})"


def percent(share: float | None) -> str:
    """A dash where there is no run."""
    return "-" if share is None or not math.isfinite(share) else f"{share:.0%}"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table of one line each."""
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows])
