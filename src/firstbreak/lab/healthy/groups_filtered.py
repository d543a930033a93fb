"""Equal groups are replaced by others: the reward that is trained on stays near one half while the policy improves."""

from __future__ import annotations

from typing import Any

from firstbreak.lab.language.settings import mixed_rewards

BASES = ("language/grpo-sort", "language/grpo-tag")


def vary(settings: Any) -> None:
    """Accept only groups whose rewards differ."""
    settings.should_accept_fn = mixed_rewards
