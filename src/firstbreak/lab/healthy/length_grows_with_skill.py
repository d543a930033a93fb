"""Right answers need work to be shown: completions grow, and the evaluation grows with them."""

from __future__ import annotations

from typing import Any

from firstbreak.lab.language import tasks

BASES = ("language/grpo-add",)


def vary(settings: Any) -> None:
    """Accept only answers with at least four dots before them; demonstrations had up to six."""
    settings.task, settings.warmup_accuracy = tasks.add(max_filler=6, min_filler=4), 0.2
