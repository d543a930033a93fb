"""The evaluation samples at another temperature from some step on: values before and after cannot be compared.

Chain: the score jumps at one step -> no metric of the training changes with it.
Healthy look-alike: the policy really improves. Then the training reward jumps as well.
Source: the debugging guide's evaluation checks; arXiv:2509.21882.
"""

from typing import Any

CAUSE = "evaluation-protocol-changed"
ONSET = 0.5
SEVERITIES = {
    "language/grpo-sort": (0.7, 0.0, 1.6),
    "language/grpo-add": (0.7, 0.0, 1.6),
}  #: temperature of the evaluation; 1 before


def inject(settings: Any, severity: float, onset: int) -> None:
    """Evaluate at temperature `severity`."""
    settings.change(onset, eval_temperature=severity)
