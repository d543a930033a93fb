"""A format reward outweighs the answer: what looks right earns nearly all there is to earn.

Chain: the format component saturates -> groups become equal -> the signal for the answer fades -> accuracy stops
rising or drifts down while reward is high.
Healthy look-alike: format is learned first and accuracy follows; the total keeps rising.
Source: Shao et al., arXiv:2402.03300 (format rewards); allenai/open-instruct#659.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab.language import tasks

CAUSE = "reward-pays-for-form"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-tag": (0.5, 0.9, 1.0),
    "language/grpo-sort": (0.5, 0.9, 1.0),
}  #: share of the reward that is paid for form alone


def inject(settings: Any, severity: float, onset: int) -> None:
    """Shift `severity` of the reward from the answer to its form."""
    settings.rewards["format"] = tasks.well_formed
    settings.reward_weights = {"accuracy": 1.0, "format": 0.0}
    settings.change(onset, reward_weights={"accuracy": 1.0 - severity, "format": severity})
