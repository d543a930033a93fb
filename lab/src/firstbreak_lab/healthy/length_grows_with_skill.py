"""Right answers need reasoning before them: completions become longer, and the evaluation rises."""

from typing import Any

from firstbreak_lab.language import tasks

BASES = ("language/grpo-add",)


def vary(settings: Any) -> None:
    """Accept only answers with at least four dots before them. Demonstrations have up to six dots."""
    settings.task, settings.warmup_accuracy = tasks.add(max_filler=6, min_filler=4), 0.2
