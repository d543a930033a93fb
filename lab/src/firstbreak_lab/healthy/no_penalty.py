"""No divergence penalty: KL from the reference rises while reward and evaluation rise, as in DAPO."""

from typing import Any

from firstbreak_lab import trl

BASES = ("language/grpo-sort", "language/grpo-add", "trl/grpo-sort")


def vary(settings: Any) -> None:
    """Weight 0 for the divergence from the reference model."""
    if isinstance(settings, trl.TrlSettings):
        settings.grpo["beta"] = 0.0
    else:
        settings.kl_ctl = 0.0
