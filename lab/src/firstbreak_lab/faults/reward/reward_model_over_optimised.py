"""The policy is over-optimised against the reward model: few training pairs, and no KL penalty.

Chain: the reward rises and continues to rise -> the divergence from the reference rises with it -> the true quality
first rises, then falls, while all metrics of the update look right.
Healthy look-alike: divergence and reward rise, and the true quality with them.
Source: Gao et al., arXiv:2210.10760 (gold against proxy over the square root of KL).
"""

from typing import Any

CAUSE = "reward-over-optimised"
ACCEPTED = {"policy_update": "nothing holds the policy near its reference"}
ONSET = 0.0
SEVERITIES = {"preference/grpo-sort": (2048, 512, 128)}  #: training pairs of the reward model; 8192 is right


def inject(settings: Any, severity: float, onset: int) -> None:
    """Train the reward model on `severity` pairs, and remove the KL penalty."""
    settings.pairs, settings.kl_ctl, settings.lr = int(severity), 0.0, 1e-3
