"""What the statistics find, and how often they are wrong."""

from typing import Any

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result


def page() -> str:
    """docs/statistics.md"""
    figures = result("statistics")
    lines = ["# How good the statistics are", "", "Simulated curves with a known answer.", "", measured(figures), ""]
    for name, part in figures.items():
        if isinstance(part, dict) and name != "versions":
            lines += [f"## {name.replace('_', ' ')}", "", table(["", "value"], _flat(part)), ""]
    return "\n".join(lines)


def _flat(part: dict[str, Any], before: str = "") -> list[list[Any]]:
    rows: list[list[Any]] = []
    for key, value in part.items():
        name = f"{before}{key.replace('_', ' ')}"
        if isinstance(value, dict):
            rows += _flat(value, name + ", ")
        elif isinstance(value, int | float | str):
            rows.append([name, f"{value:.3g}" if isinstance(value, float) else value])
    return rows
