"""One update per batch: the importance weight is exactly 1, nothing is clipped, and the loss is 0 by construction."""

from typing import Any

BASES = ("language/grpo-sort", "language/grpo-tag", "language/ppo-sort")


def vary(settings: Any) -> None:
    """A single minibatch."""
    settings.ppo_n_minibatches = 1
