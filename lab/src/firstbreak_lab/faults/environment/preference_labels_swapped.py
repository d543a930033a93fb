"""Chosen and rejected completions are exchanged in a part of the preference data.

Chain: the reward model has a low accuracy on new pairs, or prefers the worse completions -> the policy moves away from
good completions -> reward rises, true quality falls from the first steps.
Healthy look-alike: over-optimisation, where the true quality first rises.
Source: the debugging guide's data checks; Humbatova et al., arXiv:2101.00135.
"""

from typing import Any

CAUSE = "preference-data-wrong"
ACCEPTED = {"reward": "the reward model that learns from them prefers worse completions"}
ONSET = 0.0
SEVERITIES = {"preference/grpo-sort": (0.35, 0.5, 1.0)}  #: share of the pairs that are exchanged


def inject(settings: Any, severity: float, onset: int) -> None:
    """Exchange a random share `severity` of the pairs."""
    settings.swapped = severity
