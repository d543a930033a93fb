"""Format is paid for as well as the answer: it saturates at once, and the answer follows."""

from __future__ import annotations

from typing import Any

from firstbreak.lab.language import tasks

BASES = ("language/grpo-tag", "language/grpo-sort")


def vary(settings: Any) -> None:
    """A fifth of the reward for form."""
    settings.rewards = {"accuracy": tasks.accuracy, "format": tasks.well_formed}
    settings.reward_weights = {"accuracy": 0.8, "format": 0.2}
