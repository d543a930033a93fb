"""What the guard costs, which runs the guard stops and how soon: the generated part of docs/guard.md."""

from pathlib import Path
from typing import Any

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result
from benchmarks.guard import STEP_SECONDS
from benchmarks.lab import page as filled

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "guard.md"

_SHOWN = (
    "runs",
    "alarmed_fraction",
    "median_delay_fraction",
    "stopped_fraction",
    "median_stop_delay_fraction",
    "saved_fraction",
)

_LEGEND = (
    "Broken runs of the lab's test split, replayed step by step: how many raised an alarm after the onset of the fault, how "
    "many were stopped, how long the alarm and the stop took as a share of the run, and the share of the steps after the "
    "onset that the stop saved."
)


def page() -> str:
    """docs/guard.md"""
    return filled(_PAGE.read_text("utf-8"), _tables(result("guard")))


def _tables(figures: dict[str, Any]) -> dict[str, str]:
    """Marker -> generated text."""
    costs, held = figures["amortised"], figures["memory"]
    rows = [
        [f"`observe` with {figures['metrics']} metrics, median", f"{figures['observe_us_median']:.0f} us"],
        *([f"the same, {who}", f"{part['observe_us_median']:.1f} us"] for who, part in figures["peers"].items()),
        [f"share of a loop of {STEP_SECONDS:g} s a step, scheduled checks included", f"{costs['fraction']:.2%}"],
        [
            f"memory after {held['steps'] // 100} and after {held['steps']} steps",
            f"{held['early_mb']:.0f}, {held['end_mb']:.0f} MB",
        ],
        ["healthy runs replayed, stopped", f"{figures['healthy_runs']}, {figures['false_stops']}"],
        ["of these, with an alarm that did not last", figures["healthy_alarmed"]],
        ["kill -9 trials, bundle complete and replayed", f"{figures['kill9_trials']}, {figures['kill9_ok']}"],
        ["of these, killed while a bundle was written", figures["kill9_while_writing"]],
    ]
    head = ["fault", "runs", "alarm", "median delay", "stopped", "median delay", "steps saved"]
    faults = {"**all**": figures, "**with an onset after the start**": figures["late_onset"], **figures["faults"]}
    cells = [[name, *(_cell(part.get(key)) for key in _SHOWN)] for name, part in faults.items()]
    return {"figures": f"{measured(figures)}\n\n{table(['', ''], rows)}\n\n{_LEGEND}\n\n{table(head, cells)}"}


def _cell(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.0%}"
