"""A reward model is optimised beyond what it knows: few pairs, and no penalty for leaving them.

Chain: the reward rises and goes on rising -> the divergence from the reference rises with it -> the true quality
rises at first, then falls, while nothing of the update looks wrong.
Healthy look-alike: divergence and reward rise, and the true quality with them.
Source: Gao et al., arXiv:2210.10760 (gold against proxy over the square root of KL).
"""

from __future__ import annotations

from typing import Any

CAUSE = "reward-over-optimised"
ONSET = 0.0
SEVERITIES = {"preference/grpo-sort": (2048, 512, 128)}  #: pairs that the reward model is fitted to; 8192 are right


def inject(settings: Any, severity: float, onset: int) -> None:
    """Fit the reward model to `severity` pairs, and drop the penalty."""
    settings.pairs, settings.kl_ctl, settings.lr = int(severity), 0.0, 1e-3
