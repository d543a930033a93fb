"""Groups with equal rewards are replaced: the training reward stays near one half while the policy improves."""

from typing import Any

from firstbreak_lab.language.settings import mixed_rewards

BASES = ("language/grpo-sort", "language/grpo-tag")


def vary(settings: Any) -> None:
    """Accept only groups whose rewards differ."""
    settings.should_accept_fn = mixed_rewards
