"""Completions are sampled, and consistently scored, at a temperature near 0.

Chain: the completions of a prompt agree -> equal groups, no signal -> whatever the policy already does is made surer;
at the temperature of use it stays as it was.
Healthy look-alike: a solved task, whose completions agree because they are right.
Source: huggingface/trl#3857; Yu et al., arXiv:2503.14476.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab import language, trl

CAUSE = "sampling-too-cold"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.6, 0.3, 0.1),
    "language/grpo-add": (0.6, 0.3, 0.1),
    "trl/grpo-sort": (0.3, 0.1),
}  #: temperature


def inject(settings: Any, severity: float, onset: int) -> None:
    """Sample and score at temperature `severity`."""
    match settings:
        case language.Settings():
            settings.change(onset, temperature=severity)
        case trl.Settings():
            settings.grpo["temperature"] = severity
