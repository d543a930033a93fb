"""The committed figures, and the line that says where they come from."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "results"


def result(name: str) -> dict[str, Any]:
    """What the benchmark of this name measured last."""
    figures: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return figures


def measured(figures: dict[str, Any]) -> str:
    """By which command, when and on which machine."""
    made = f"Measured by `{figures['command']}` on {figures['date']}: {figures['machine']}, Python {figures['python']}."
    return f"{made} *Note: {figures['note']}.*" if "note" in figures else made
