"""Format and answer are both rewarded: the format is learned at once, and the answer follows."""

from typing import Any

from firstbreak_lab.language import tasks

BASES = ("language/grpo-tag", "language/grpo-sort")


def vary(settings: Any) -> None:
    """A fifth of the reward is for the format."""
    settings.rewards = {"accuracy": tasks.accuracy, "format": tasks.well_formed}
    settings.reward_weights = {"accuracy": 0.8, "format": 0.2}
