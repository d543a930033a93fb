"""Completions are sampled, and consistently scored, at a temperature near 0.

Chain: the completions of a prompt agree -> equal groups, no gradient -> the policy repeats what it already does;
at the temperature of use the policy does not improve.
Healthy look-alike: a solved task, where completions agree because they are right.
Source: huggingface/trl#3857; Yu et al., arXiv:2503.14476.
"""

from typing import Any

from firstbreak_lab import language, trl

CAUSE = "sampling-too-cold"
ACCEPTED = {"rollout": "it is a setting of the sampler"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.6, 0.3, 0.1),
    "language/grpo-add": (0.6, 0.3, 0.1),
    "trl/grpo-sort": (0.3, 0.1),
}  #: temperature


def inject(settings: Any, severity: float, onset: int) -> None:
    """Sample and score at temperature `severity`."""
    match settings:
        case language.LanguageSettings():
            settings.change(onset, temperature=severity)
        case trl.TrlSettings():
            settings.grpo["temperature"] = severity
