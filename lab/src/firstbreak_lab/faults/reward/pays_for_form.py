"""The format reward is larger than the reward for the answer: a right format gets nearly the full reward.

Chain: the format component saturates -> groups become equal -> the gradient for the answer becomes small -> accuracy stops
rising or falls slowly while reward is high.
Healthy look-alike: format is learned first and accuracy follows. The total continues to rise.
Source: Shao et al., arXiv:2402.03300 (format rewards); allenai/open-instruct#659.
"""

from typing import Any

from firstbreak_lab.language import tasks

CAUSE = "reward-pays-for-form"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-tag": (0.5, 0.9, 1.0),
    "language/grpo-sort": (0.5, 0.9, 1.0),
}  #: share of the reward that is given for the format


def inject(settings: Any, severity: float, onset: int) -> None:
    """Move `severity` of the reward from the answer to the format."""
    settings.rewards["format"] = tasks.well_formed
    settings.reward_weights = {"accuracy": 1.0, "format": 0.0}
    settings.change(onset, reward_weights={"accuracy": 1.0 - severity, "format": severity})
